// SPDX-License-Identifier: GPL-2.0-only

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "policy/names.h"
#include "watch/traffic/pattern.h"
#include "watch/traffic/rule_book.h"

/* ---- the headers of a sampled packet */

#define WORD(name, text) text,
const char *const feature_words[FEATURE_COUNT] = {EVENT_FEATURES(WORD)};
#undef WORD

#define ETHERNET_BYTES 14
#define VLAN_BYTES     4
#define VLANS_MAX      2
#define EXTENSIONS_MAX 8
#define TCP_FLAGS_AT   13

struct cursor {
	const uint8_t *data;
	uint32_t at, size;
};

static bool has(const struct cursor *c, uint32_t bytes)
{
	return c->at <= c->size && c->size - c->at >= bytes;
}

static uint32_t be16(const struct cursor *c, uint32_t offset)
{
	return (uint32_t)c->data[c->at + offset] << 8 | c->data[c->at + offset + 1];
}

/* To the IP header. */
static bool ethernet_skip(struct cursor *c)
{
	if (!has(c, ETHERNET_BYTES))
		return false;
	c->at += ETHERNET_BYTES;
	for (int i = 0; i < VLANS_MAX; i++) {
		uint32_t ethertype = be16(c, -2u);

		if (ethertype != 0x8100 && ethertype != 0x88a8)
			break;
		if (!has(c, VLAN_BYTES))
			return false;
		c->at += VLAN_BYTES;
	}
	return true;
}

static bool ipv4_read(struct cursor *c, const uint8_t src[16], struct packet_fields *out)
{
	if (!has(c, 20) || memcmp(c->data + c->at + 12, src + 12, 4) != 0)
		return false;
	out->value[FEATURE_LENGTH] = be16(c, 2);
	out->value[FEATURE_TTL] = c->data[c->at + 8];
	c->at += (c->data[c->at] & 0x0fu) * 4;
	return true;
}

static bool ipv6_read(struct cursor *c, const uint8_t src[16], struct packet_fields *out)
{
	uint8_t next;

	if (!has(c, 40) || memcmp(c->data + c->at + 8, src, 16) != 0)
		return false;
	out->value[FEATURE_LENGTH] = 40 + be16(c, 4);
	out->value[FEATURE_TTL] = c->data[c->at + 7];
	next = c->data[c->at + 6];
	c->at += 40;
	for (int i = 0; i < EXTENSIONS_MAX && has(c, 8); i++) {
		uint32_t bytes = next == IPPROTO_FRAGMENT ? 8 : (c->data[c->at + 1] + 1u) * 8;

		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
		    next != IPPROTO_FRAGMENT)
			break;
		next = c->data[c->at];
		c->at += bytes;
	}
	return true;
}

/* After the headers of a tunnel the source is another one: then nothing is known. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out)
{
	uint32_t size = sample->kept < RL_FRAME_KEPT ? sample->kept : RL_FRAME_KEPT;
	struct cursor c = {.data = sample->frame, .size = size};
	uint8_t version;

	*out = (struct packet_fields){0};
	if (!sample_has_addresses(sample) || (!raw_ip && !ethernet_skip(&c)) || !has(&c, 1))
		return;
	version = c.data[c.at] >> 4;
	out->has_ip = version == 4   ? ipv4_read(&c, sample->src, out)
		      : version == 6 ? ipv6_read(&c, sample->src, out)
				     : false;
	out->has_flags = out->has_ip && sample->proto == IPPROTO_TCP && sample->has_ports &&
			 has(&c, TCP_FLAGS_AT + 1);
	if (out->has_flags)
		out->value[FEATURE_FLAGS] = c.data[c.at + TCP_FLAGS_AT];
}

#define LENGTH_CLASS 32u
#define TTL_CLASS    16u
#define LENGTH_MOST  65535u
#define NETWORK_IPV4 0x10000u /* beside the 16 bits of an IPv4 /16; an IPv6 /32 has larger ones */

static uint32_t network_of(const uint8_t src[16])
{
	if (prefix_is_ipv4(src, 128))
		return NETWORK_IPV4 | (uint32_t)src[12] << 8 | src[13];
	return (uint32_t)src[0] << 24 | (uint32_t)src[1] << 16 | (uint32_t)src[2] << 8 | src[3];
}

/* A packet that stands for several segments has no length of its own. */
struct pattern pattern_of(const struct rl_sample *sample, bool raw_ip)
{
	struct pattern pattern = {.known = sample_has_addresses(sample)};
	struct packet_fields fields;
	uint32_t length;

	if (!pattern.known)
		return pattern;
	packet_fields_read(sample, raw_ip, &fields);
	length = fields.value[FEATURE_LENGTH];
	length = length > LENGTH_MOST ? LENGTH_MOST : length;
	pattern.proto = sample->proto;
	pattern.has_port = sample->has_ports;
	pattern.dport = sample->has_ports ? sample->dport : 0;
	pattern.has_ip = fields.has_ip;
	pattern.hops = (uint8_t)(fields.value[FEATURE_TTL] / TTL_CLASS * TTL_CLASS);
	pattern.has_length = fields.has_ip && sample->packets <= 1;
	pattern.length = pattern.has_length ? (uint16_t)(length / LENGTH_CLASS * LENGTH_CLASS) : 0;
	pattern.has_flags = fields.has_flags;
	pattern.flags = (uint8_t)fields.value[FEATURE_FLAGS];
	pattern.network = network_of(sample->src);
	return pattern;
}

struct pattern pattern_anywhere(const struct pattern *pattern)
{
	struct pattern anywhere = *pattern;

	anywhere.network = 0;
	return anywhere;
}

/* ---- text */

__attribute__((format(printf, 2, 3))) static void put(char buf[PATTERN_TEXT_MAX],
						      const char *format, ...)
{
	size_t used = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + used, PATTERN_TEXT_MAX - used, format, args);
	va_end(args);
}

/* In the canonical order of a rule. */
void pattern_print(char buf[PATTERN_TEXT_MAX], const struct pattern *pattern, bool as_rule)
{
	const struct protocol *protocol = protocol_by_number(pattern->proto);

	*buf = '\0';
	if (protocol)
		put(buf, "%s", protocol->name);
	else
		put(buf, "proto %u", pattern->proto);
	if (pattern->has_port)
		put(buf, "%s%u", as_rule ? " dport " : "/", pattern->dport);
	if (pattern->has_flags)
		put(buf, " flags%s", pattern->flags ? "" : " none");
	for (unsigned int bit = 0; pattern->has_flags && bit < 8; bit++)
		if (pattern->flags >> bit & 1)
			put(buf, "%c%s", pattern->flags & ((1u << bit) - 1) ? ',' : ' ',
			    tcp_flag_name(bit));
	if (pattern->has_length)
		put(buf, " length %u-%u", pattern->length, pattern->length + LENGTH_CLASS - 1);
	if (pattern->has_ip)
		put(buf, " %s %u-%u", feature_words[FEATURE_TTL], pattern->hops,
		    pattern->hops + TTL_CLASS - 1);
	if (!pattern->has_port && protocol && protocol->has_ports)
		put(buf, " fragment"); /* not the first: that has ports */
}

void pattern_network_print(char *buf, size_t size, uint32_t network)
{
	bool ipv4 = network >> 16 == NETWORK_IPV4 >> 16;
	uint8_t addr[16] = {0};

	if (ipv4)
		memset(addr + 10, 0xff, 2);
	for (int i = 0; i < 4; i++)
		addr[ipv4 ? 10 + i : i] |= (uint8_t)(network >> (24 - 8 * i));
	prefix_print(buf, size, addr, ipv4 ? 96 + 16 : 32);
}

void pattern_rule_print(char buf[PATTERN_RULE_MAX], const char *match)
{
	snprintf(buf, PATTERN_RULE_MAX, "rule device %.*s not established limit 100/second",
		 PATTERN_TEXT_MAX, match);
}

/* ---- many packets */

void patterns_add(struct patterns *patterns, const struct pattern *pattern, uint64_t weight)
{
	struct pattern anywhere = pattern_anywhere(pattern);

	if (!pattern->known)
		return;
	shares_add(&patterns->all, &anywhere, sizeof(anywhere), weight);
	shares_add(&patterns->networks, pattern, sizeof(*pattern), weight);
}

/* The network that at least half of the packets of the pattern are from; 0: none. */
static uint32_t network_find(const struct patterns *patterns, uint64_t all,
			     const struct pattern_part *part)
{
	struct shares_part networks[SHARES_PLACES];
	size_t count =
		shares_list(&patterns->networks, all, part->share / 2, networks, SHARES_PLACES);

	for (size_t i = 0; i < count; i++) {
		struct pattern found, anywhere;

		memcpy(&found, networks[i].value, sizeof(found));
		anywhere = pattern_anywhere(&found);
		if (!memcmp(&anywhere, &part->pattern, sizeof(anywhere)))
			return found.network;
	}
	return 0;
}

size_t patterns_list(const struct patterns *patterns, uint64_t all, double least,
		     struct pattern_part *out, size_t max)
{
	struct shares_part parts[SHARES_PLACES];
	size_t count = shares_list(&patterns->all, all, least, parts,
				   max < SHARES_PLACES ? max : SHARES_PLACES);

	for (size_t i = 0; i < count; i++) {
		memcpy(&out[i].pattern, parts[i].value, sizeof(out[i].pattern));
		out[i].share = parts[i].share;
		out[i].pattern.network = network_find(patterns, all, &out[i]);
	}
	return count;
}

double patterns_share(const struct patterns *patterns, uint64_t all, const struct pattern *pattern)
{
	struct pattern wanted = pattern_anywhere(pattern);
	struct shares_part parts[SHARES_PLACES];
	size_t count = shares_list(&patterns->all, all, 0, parts, SHARES_PLACES);

	for (size_t i = 0; i < count; i++)
		if (!memcmp(parts[i].value, &wanted, sizeof(wanted)))
			return parts[i].share;
	return 0;
}
