// SPDX-License-Identifier: GPL-2.0-only
/* The data path's parser, built for the host. It never reads beyond the readable part of a frame,
 * its result matches the frame, and bytes that it does not read do not change the result.
 *
 * The first byte of an input says whether it is an skb and how many VLAN tags were taken out of it;
 * the second, how many bytes of the frame cannot be read; the third, how many more bytes were not
 * captured at all; the rest is the frame.
 */
#include "fuzz.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "rlctl_abi.h"

/* Constants that a program's loader sets once are set here for every input. */
static struct rl_config config;

#include "packet/parse.h"

#define HEAD       3
#define SKB        1
#define TAGS(byte) ((byte) >> 1 & 3)

struct view {
	uint32_t readable, bytes; /* of the frame */
	int tags;
};

static enum parse parse(const uint8_t *data, const struct view *view, struct packet *out)
{
	uint8_t *frame = fuzz_frame(data, view->readable);
	enum parse parse;

	memset(out, 0, sizeof(*out));
	parse = packet_parse(
		out,
		cursor_at(frame, frame + view->readable, TRANSPORT_MAX, config.frames_are_skbs),
		view->bytes, view->tags);
	fuzz_frame_free(frame);
	require(out->bytes == view->bytes);
	if (parse == PARSE_ND_TYPE) {
		require(out->proto == IPPROTO_ICMPV6 && !(out->flags & PACKET_LATER));
		return PARSE_IP;
	}
	require(parse == PARSE_IP || parse == PARSE_NON_IP || parse == PARSE_MALFORMED);
	return parse;
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

static uint16_t be16_at(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static void transport_check(const uint8_t *data, const struct packet *p)
{
	bool later = p->flags & PACKET_LATER;

	require(!later || p->flags & PACKET_FRAGMENT);
	require(!!(p->flags & PACKET_PORTS) == (has_ports(p->proto) && !later));
	if (p->flags & PACKET_PORTS) {
		require(p->sport == be16_at(data + p->transport));
		require(p->dport == be16_at(data + p->transport + 2));
	}
	require(!!(p->flags & PACKET_SYN) == (p->flags & PACKET_PORTS && p->proto == IPPROTO_TCP &&
					      (data[p->transport + 13] & 0x12) == 0x02));
}

static bool is_mapped(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(addr, mapped, sizeof(mapped));
}

/* The addresses are in the frame, in a header before the transport's. */
static void addresses_check(const uint8_t *data, const struct packet *p)
{
	uint32_t from = p->flags & PACKET_IPV4 ? 12 : 0, size = 16 - from;
	bool found = false;

	require(is_mapped(p->src) == !!(p->flags & PACKET_IPV4));
	require(is_mapped(p->dst) == !!(p->flags & PACKET_IPV4));
	for (uint32_t at = ETH_HLEN; at + 2 * size <= p->transport && !found; at++)
		found = !memcmp(data + at, p->src + from, size) &&
			!memcmp(data + at + size, p->dst + from, size);
	require(found);
}

static void packet_check(const uint8_t *data, const struct view *view, const struct packet *p)
{
	require(p->transport <= view->readable);
	require(p->transport + p->payload <= view->bytes);
	transport_check(data, p);
	addresses_check(data, p);
	if (config.frames_are_skbs)
		require(p->headers >= p->transport && p->headers <= view->bytes);
}

/* With fewer readable bytes the result is the same or malformed. */
static void less_check(const uint8_t *data, const struct view *view, const struct packet *p,
		       enum parse whole)
{
	struct view less = *view;
	struct packet other;

	for (uint32_t step = 1; less.readable >= step; step += step / 2 + 1) {
		enum parse part;

		less.readable -= step;
		part = parse(data, &less, &other);
		require(part == PARSE_MALFORMED || part == whole);
		require(part != PARSE_IP || !memcmp(p, &other, sizeof(other)));
	}
}

/* Bytes behind the IP packet are ignored. */
static void padding_check(const uint8_t *data, const struct view *view, const struct packet *p)
{
	struct view more = *view;
	struct packet other;

	more.bytes += 4;
	require(parse(data, &more, &other) == PARSE_IP);
	other.bytes = p->bytes;
	require(!memcmp(p, &other, sizeof(other)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view view;
	struct cursor c = {0};
	struct packet p;
	enum parse whole;

	if (size < HEAD)
		return 0;
	config.frames_are_skbs = data[0] & SKB;
	c.skb = config.frames_are_skbs;
	view.tags = config.frames_are_skbs ? TAGS(data[0]) % (VLAN_TAGS_MAX + 1) : 0;
	view.readable = size - HEAD;
	view.readable -= data[1] < view.readable ? data[1] : view.readable;
	view.bytes = size - HEAD + data[2] * 300u;
	data += HEAD;
	whole = parse(data, &view, &p);
	if (whole == PARSE_IP)
		packet_check(data, &view, &p);
	less_check(data, &view, &p, whole);
	if (whole == PARSE_IP && !unstated_bytes(&c, view.bytes, PACKET_BYTES_MAX))
		padding_check(data, &view, &p);
	return 0;
}
