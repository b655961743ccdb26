/* SPDX-License-Identifier: GPL-2.0-only */
/* A frame as XDP hands it over: it may come in pieces, of which only the first, the linear part,
 * can be read in place. Where that does not hold the headers (it may be empty: mlx5 with striding
 * receive queues), they are copied and parsed from the copy.
 */
#pragma once

#include "maps.h"
#include "packet/neighbour.h"
#include "packet/parse.h"
#include "limit/state.h"

#define HEADERS_USUAL \
	128 /* hold Ethernet, two tags, IPv4 with all options and a transport header */

/* With clock_injected: the length of a simulated frame, where only its beginning is run; 0: all. */
volatile __u32 simulated_bytes = 0;

static __always_inline __u32 xdp_bytes(struct xdp_md *ctx)
{
	if (config.clock_injected && simulated_bytes)
		return simulated_bytes;
	return bpf_xdp_get_buff_len(ctx);
}

static __always_inline struct cursor xdp_cursor(const struct xdp_md *ctx)
{
	return cursor_at((void *)(long)ctx->data, (void *)(long)ctx->data_end, TRANSPORT_MAX,
			 false);
}

/* With the length of all pieces, which costs a call. */
__noinline int xdp_parse_whole(struct xdp_md *ctx, struct packet *p)
{
	if (!p)
		return PARSE_MALFORMED;
	p->flags = 0;
	return packet_parse(p, xdp_cursor(ctx), xdp_bytes(ctx), 0);
}

/* A copy of the first `most` bytes. The bounds are asked for as in watch.h. */
__noinline int xdp_parse_copy(struct xdp_md *ctx, struct packet *p, __u32 most)
{
	__u64 bytes = bpf_xdp_get_buff_len(ctx), space = RL_HEADERS_SIZE(config.headers_reach);
	void *copy = only(&headers);

	if (!p || !copy || bytes < ETH_HLEN)
		return PARSE_MALFORMED;
	if (bytes > most)
		bytes = most;
	barrier_var(bytes);
	if (bytes < ETH_HLEN || bytes > space)
		return PARSE_MALFORMED;
	if (bpf_xdp_load_bytes(ctx, 0, copy, bytes))
		return PARSE_MALFORMED;
	p->flags = 0;
	return packet_parse(p, cursor_at(copy, copy + bytes, config.headers_reach, false),
			    xdp_bytes(ctx), 0);
}

/* For a frame whose linear part seems malformed: only where there is more than that is there
 * anything to copy. Most headers are short, so that a short copy is tried first. */
__noinline int xdp_parse_pieces(struct xdp_md *ctx, struct packet *p)
{
	__u64 bytes = bpf_xdp_get_buff_len(ctx);
	int parse = PARSE_MALFORMED;

	if (!p || bytes <= ctx->data_end - ctx->data)
		return PARSE_MALFORMED;
	parse = xdp_parse_copy(ctx, p, HEADERS_USUAL);
	if (parse == PARSE_MALFORMED && bytes > HEADERS_USUAL)
		parse = xdp_parse_copy(ctx, p, RL_HEADERS_SIZE(config.headers_reach));
	return parse;
}

/* The VLAN of a packet that was parsed. */
__noinline int xdp_vlan(struct xdp_md *ctx)
{
	struct tagged_header *first = (void *)(long)ctx->data, h = {};

	if ((void *)(first + 1) <= (void *)(long)ctx->data_end)
		return tagged_vlan(first);
	return bpf_xdp_load_bytes(ctx, 0, &h, sizeof(h)) ? 0 : tagged_vlan(&h);
}

/* Is it neighbour discovery? PARSE_NEIGHBOUR, else PARSE_IP. */
__noinline int xdp_parse_neighbour(struct xdp_md *ctx, struct packet *p)
{
	struct neighbour_message m = {};
	__u32 at;

	if (!p || !neighbour_message_may(p))
		return PARSE_IP;
	at = p->transport - sizeof(struct ipv6hdr);
	if (neighbour_has_target(p) ? bpf_xdp_load_bytes(ctx, at, &m, sizeof(m))
				    : bpf_xdp_load_bytes(ctx, at, &m, MESSAGE_LEAST))
		return PARSE_IP;
	return neighbour_message_holds(&m, p->payload) ? PARSE_NEIGHBOUR : PARSE_IP;
}

/* A frame of one piece is as long as its readable part. Where that seems too short for what its
 * headers say, or where the device's frames may come in pieces, the whole length is asked for. */
static __always_inline int xdp_parse(struct xdp_md *ctx, struct packet *p)
{
	struct cursor c = xdp_cursor(ctx);
	int parse = PARSE_MALFORMED;

	if (!config.frames_in_pieces)
		parse = packet_parse(p, c, c.end - c.start, 0);
	if (parse == PARSE_MALFORMED)
		parse = xdp_parse_whole(ctx, p);
	if (parse == PARSE_MALFORMED)
		parse = xdp_parse_pieces(ctx, p);
	return parse == PARSE_ND_TYPE ? xdp_parse_neighbour(ctx, p) : parse;
}
