/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes after the transport header, for rules with `payload`: a copy for each packet of those that
 * the policy's rules compare, as far as the packet has them, in a map that is there while a policy
 * has such a rule. Bytes after the end that the headers state, such as padding, do not count.
 */
#pragma once

#include "clock.h"
#include "common.h"
#include "packet/packet.h"
#include "packet/skb_parse.h"

#define PAYLOAD_SIZE (RL_PAYLOAD_OFFSET_MAX + RL_PAYLOAD_MAX)

SIZED_MAP(payload, PERCPU_ARRAY, 0, 1, __u32, PAYLOAD_SIZE);

/* With clock_injected: becomes 1 where a rule asks for bytes that were not captured. */
volatile __u32 simulated_cut = 0;

#if EXTENDED

/* How many bytes there are after the header: a capture may have fewer than the packet. */
static __always_inline __u64 payload_room(void *ctx, bool skb, const struct packet *p)
{
	__u64 bytes;

	if (!config.clock_injected || skb)
		return p->facts.payload_bytes;
	bytes = bpf_xdp_get_buff_len(ctx);
	bytes = bytes > p->facts.payload ? bytes - p->facts.payload : 0;
	return bytes < p->facts.payload_bytes ? bytes : p->facts.payload_bytes;
}

/* Where the copy cannot be had the packet counts as one without payload. */
static __always_inline int payload_copy(void *ctx, bool skb, struct packet *p,
					const struct rl_policy_header *header)
{
	__u64 first, end, last; /* `last`: of the bytes to be copied, counted from `first` */
	__u64 room;
	void *copy;
	long failed;

	if (!config.matches_payload || !p || !header)
		return 0;
	first = header->payload_first * RL_PAYLOAD_UNIT;
	end = header->payload_end * RL_PAYLOAD_UNIT;
	p->facts.copied = first;
	room = payload_room(ctx, skb, p);
	if (end > room)
		end = room;
	p->facts.copied_end = end;
	last = end - first - 1;
	barrier_var(last);
	copy = only(&payload);
	if (!copy || last >= PAYLOAD_SIZE)
		return 0;
	/* The verifier of 6.1 learns nothing from a comparison with 0: it sees 1 added. */
	failed = skb ? skb_load(ctx, p->facts.payload + first, copy, last + 1)
		     : bpf_xdp_load_bytes(ctx, p->facts.payload + first, copy, last + 1);
	if (failed)
		p->facts.copied_end = 0;
	return 0;
}

__noinline int xdp_payload_copy(struct xdp_md *ctx, struct packet *p,
				const struct rl_policy_header *header)
{
	return payload_copy(ctx, false, p, header);
}

__noinline int skb_payload_copy(struct __sk_buff *skb, struct packet *p,
				const struct rl_policy_header *header)
{
	return payload_copy(skb, true, p, header);
}

/* Has the packet these bytes? Then *holds: are they as the rule wants them? */
static __always_inline bool payload_known(const struct packet *p, const struct rl_extra *extra,
					  bool *holds)
{
	__u64 at = extra->payload_at - p->facts.copied;
	const __u8 *copy = only(&payload);

	if (!copy || extra->payload_at + extra->payload_len > p->facts.copied_end)
		return false;
	barrier_var(at);
	if (at > RL_PAYLOAD_OFFSET_MAX)
		return false;
	*holds = false;
	for (__u32 i = 0; i < RL_PAYLOAD_MAX && i < extra->payload_len; i++)
		if ((copy[at + i] & extra->payload_mask[i]) != extra->payload[i])
			return true;
	*holds = true;
	return true;
}

/* For a packet of which they are not known. A first fragment may end before them, so that they
 * never stand in one packet: rules that deny, and alarms, take it that they are as wanted. */
static __always_inline bool payload_feared(const struct packet *p, const struct rl_rule *rule,
					   const struct rl_extra *extra)
{
	if (extra->payload_at + extra->payload_len <= p->facts.payload_bytes) {
		if (config.clock_injected)
			simulated_cut = 1;
		return false;
	}
	return p->flags & PACKET_FRAGMENT && rule->action != RL_ACTION_ALLOW &&
	       rule->action != RL_ACTION_LIMIT;
}

#endif
