// SPDX-License-Identifier: GPL-2.0-only
#include "watch/traits.h"

#include <netinet/in.h>
#include <string.h>

#include "base/units.h"
#include "watch/rule_book.h"

#define SOURCE_LEAST   0.01
#define VALUE_LEAST    0.1

#define ETHERNET_BYTES 14
#define VLAN_BYTES     4
#define VLANS_MAX      2
#define EXTENSIONS_MAX 8
#define TCP_FLAGS_AT   13

/* ---- the headers */

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

static bool is_vlan(uint32_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

/* To the IP header. */
static bool ethernet_skip(struct cursor *c)
{
	if (!has(c, ETHERNET_BYTES))
		return false;
	c->at += ETHERNET_BYTES;
	for (int i = 0; i < VLANS_MAX && is_vlan(be16(c, -2u)); i++) {
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

static bool is_extension(uint8_t next)
{
	return next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS ||
	       next == IPPROTO_FRAGMENT;
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
	for (int i = 0; i < EXTENSIONS_MAX && is_extension(next) && has(c, 8); i++) {
		uint32_t bytes = next == IPPROTO_FRAGMENT ? 8 : (c->data[c->at + 1] + 1u) * 8;

		next = c->data[c->at];
		c->at += bytes;
	}
	return true;
}

static bool ip_read(struct cursor *c, const uint8_t src[16], struct packet_fields *out)
{
	if (!has(c, 1))
		return false;
	if (c->data[c->at] >> 4 == 4)
		return ipv4_read(c, src, out);
	return c->data[c->at] >> 4 == 6 && ipv6_read(c, src, out);
}

/* Behind the headers of a tunnel the source is another one: then nothing is known. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out)
{
	uint32_t size = sample->kept < RL_FRAME_KEPT ? sample->kept : RL_FRAME_KEPT;
	struct cursor c = {.data = sample->frame, .size = size};

	*out = (struct packet_fields){0};
	if (!sample_has_addresses(sample) || (!raw_ip && !ethernet_skip(&c)))
		return;
	out->has_ip = ip_read(&c, sample->src, out);
	out->has_flags = out->has_ip && sample->proto == IPPROTO_TCP && sample->has_ports &&
			 has(&c, TCP_FLAGS_AT + 1);
	if (out->has_flags)
		out->value[FEATURE_FLAGS] = c.data[c.at + TCP_FLAGS_AT];
}

/* ---- samples */

static void value_add(struct traits *traits, enum event_feature feature, uint32_t value,
		      uint64_t weight)
{
	shares_add(&traits->values[feature], &value, sizeof(value), weight);
}

static uint32_t port_value(const struct rl_sample *packet, uint16_t port)
{
	return (uint32_t)packet->proto << 16 | port;
}

/* A packet that stands for several segments has no length of its own. */
static void headers_add(struct traits *traits, const struct sampled *sample, bool raw_ip)
{
	uint64_t weight = sample->stands_for;
	struct packet_fields fields;

	packet_fields_read(&sample->packet, raw_ip, &fields);
	if (fields.has_ip && sample->packet.packets <= 1)
		value_add(traits, FEATURE_LENGTH, fields.value[FEATURE_LENGTH], weight);
	if (fields.has_ip)
		value_add(traits, FEATURE_TTL, fields.value[FEATURE_TTL], weight);
	if (fields.has_flags)
		value_add(traits, FEATURE_FLAGS, fields.value[FEATURE_FLAGS], weight);
}

static void source_add(struct shares *shares, const struct sampled *sample)
{
	const uint8_t *src = sample->packet.src;
	uint8_t addr[16];

	prefix_mask(addr, src, key_bits(src, 32, 64));
	shares_add(shares, addr, sizeof(addr), sample->stands_for);
}

void traits_known_add(struct traits *traits, const struct sampled *sample)
{
	source_add(&traits->known, sample);
}

void traits_add(struct traits *traits, const struct sampled *sample, bool raw_ip)
{
	const struct rl_sample *packet = &sample->packet;
	uint64_t weight = sample->stands_for;

	traits->packets += weight;
	if (!sample_has_addresses(packet))
		return;
	source_add(&traits->sources, sample);
	if (packet->has_ports) {
		value_add(traits, FEATURE_PORT, port_value(packet, packet->dport), weight);
		value_add(traits, FEATURE_SPORT, port_value(packet, packet->sport), weight);
	}
	headers_add(traits, sample, raw_ip);
}

/* ---- the excerpt */

static uint32_t sources_list(const struct shares *shares, uint64_t all, double least, uint64_t rate,
			     struct event_source out[EVENT_SOURCES])
{
	struct shares_part parts[EVENT_SOURCES];
	size_t count = shares_list(shares, all, least, parts, EVENT_SOURCES);

	for (size_t i = 0; i < count; i++) {
		memcpy(out[i].addr, parts[i].value, sizeof(out[i].addr));
		out[i].share = parts[i].share;
		out[i].rate = (uint64_t)(parts[i].share * (double)rate + 0.5);
	}
	return (uint32_t)count;
}

static void values_list(const struct traits *traits, enum event_feature feature,
			struct event_excerpt *out)
{
	struct shares_part parts[EVENT_COMMON];
	size_t count = shares_list(&traits->values[feature], traits->packets, VALUE_LEAST, parts,
				   EVENT_COMMON);

	out->value_count[feature] = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		memcpy(&out->values[feature][i].value, parts[i].value, sizeof(uint32_t));
		out->values[feature][i].share = parts[i].share;
	}
}

void traits_excerpt(const struct traits *traits, uint64_t rate, struct event_excerpt *out)
{
	*out = (struct event_excerpt){0};
	out->source_count =
		sources_list(&traits->sources, traits->packets, SOURCE_LEAST, rate, out->sources);
	out->known_count = sources_list(&traits->known, traits->packets, 0, rate, out->known);
	for (int i = 0; i < FEATURE_COUNT; i++)
		values_list(traits, i, out);
}
