// SPDX-License-Identifier: GPL-2.0-only
#include "watch/packet_fields.h"

#include <netinet/in.h>
#include <string.h>

#include "watch/rule_book.h"

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
