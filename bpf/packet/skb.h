/* SPDX-License-Identifier: GPL-2.0-only */
/* A frame as tc hands it over (skb_parse.h): it may be several packets on the wire (GSO, GRO), each
 * with its own headers.
 */
#pragma once

#include "match/classify.h"
#include "packet/neighbour.h"
#include "limit/pace.h"
#include "packet/skb_parse.h"

#if EXTENDED
/* The IP length of its packets on the wire, of which the last may be shorter. `bytes` are those on
 * the wire as far as headers were parsed. */
static __always_inline void skb_length(const struct __sk_buff *skb, struct packet *p,
				       __u32 segments, __u32 bytes)
{
	__u32 length = p->headers - p->facts.network + skb->gso_size;

	if (skb->wire_len > bytes)
		length += (skb->wire_len - bytes) / (segments - 1);
	p->facts.number[RL_NUMBER_LENGTH] = length < PACKET_BYTES_MAX ? length : PACKET_BYTES_MAX;
}
#endif

/* Its packets and bytes on the wire. A machine's guests do not say how many segments they send,
 * only how large; of tunnels the kernel knows more headers than were parsed, and may say so in
 * wire_len. */
static __always_inline void skb_measure(struct __sk_buff *skb, struct packet *p)
{
	__u32 size = skb->gso_size, segments = skb->gso_segs;
	__u32 bytes = config.frames_have_outer ? p->bytes : skb->len;

	if (size && !segments && bytes > p->headers)
		segments = (bytes - p->headers + size - 1) / size;
	if (!size || !segments)
		segments = 1;
	bytes += (segments - 1) * p->headers;
#if EXTENDED
	if (config.matches_extra && segments > 1)
		skb_length(skb, p, segments, bytes);
#endif
	if (segments > 1 && skb->wire_len > bytes)
		bytes = skb->wire_len;
	if (skb->vlan_present)
		bytes += segments * sizeof(struct vlan_header);
	p->segments = segments;
	p->bytes = bytes;
}

/* As xdp_vlan. */
__noinline int skb_vlan(struct __sk_buff *skb)
{
	struct tagged_header h = {};

	if (skb->vlan_present)
		return skb->vlan_tci & VLAN_ID;
	if (!config.frames_have_ethernet)
		return 0;
	return bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) ? 0 : tagged_vlan(&h);
}

/* As xdp_parse_neighbour. */
__noinline int skb_parse_neighbour(struct __sk_buff *skb, struct packet *p)
{
	struct neighbour_message m = {};
	__u32 at;

	if (!p || !neighbour_message_may(p))
		return PARSE_IP;
	at = p->transport - sizeof(struct ipv6hdr);
	if (neighbour_has_target(p) ? skb_load(skb, at, &m, sizeof(m))
				    : skb_load(skb, at, &m, MESSAGE_LEAST))
		return PARSE_IP;
	return neighbour_message_holds(&m, p->payload) ? PARSE_NEIGHBOUR : PARSE_IP;
}

static __always_inline int skb_parse(struct __sk_buff *skb, struct packet *p)
{
	int parse = skb_parse_headers(skb, p);

	if (parse == PARSE_ND_TYPE)
		parse = skb_parse_neighbour(skb, p);
	skb_measure(skb, p);
	return parse;
}

/* ---- what becomes of one that passes */

/* Where a packet is over several limits, the last one marks it. */
static __always_inline void skb_mark(struct __sk_buff *skb, const struct decision *d)
{
	for (__u32 i = 0; i < DECISION_MAX && d->shadowed >> i; i++) {
		struct rl_rule *rule = d->shadowed & 1u << i ? matched_rule(d, i) : NULL;

		if (rule && rule->limit.over == RL_OVER_MARK)
			skb->mark = rule->limit.mark;
	}
}

/* The departure that the socket asked for stays where it is later. The helper refuses packets whose
 * VLAN tag is in the data. */
static __always_inline void skb_delay(struct __sk_buff *skb, struct packet *p)
{
	__u64 departs_ns = clock_precise(p) + (p->wait >> RL_GRAIN_SHIFT);

	if (!p->wait || skb->tstamp >= departs_ns)
		return;
	if (bpf_skb_set_tstamp(skb, departs_ns, BPF_SKB_TSTAMP_DELIVERY_MONO))
		skb->tstamp = departs_ns;
}
