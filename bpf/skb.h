/* SPDX-License-Identifier: GPL-2.0-only */
/* A frame as tc hands it over, an skb: a VLAN tag may be beside it, headers may lie outside of what
 * can be read, and it may be several packets on the wire (GSO, GRO), each with its own headers.
 */
#ifndef RLCTL_BPF_SKB_H
#define RLCTL_BPF_SKB_H

#include "classify.h"
#include "neighbour.h"
#include "pace.h"

const volatile bool frames_have_ethernet = true; /* else they begin with IP, */
const volatile bool frames_have_outer = false;   /* or, on a GRE device, with what is around it */

/* The length that the IP header states; 0 where it states none (BIG TCP). */
static __always_inline __u32 stated_bytes(const struct __sk_buff *skb, const void *header)
{
	const struct ipv6hdr *ip6 = header;
	const struct iphdr *ip4 = header;
	__u32 payload = bpf_ntohs(ip6->payload_len);

	if (skb->protocol == bpf_htons(ETH_P_IP))
		return bpf_ntohs(ip4->tot_len);
	return payload ? sizeof(*ip6) + payload : 0;
}

/* On a GRE device without a remote address the data begins with the outer headers, as if they were
 * the link's, incoming and outgoing. Only the kernel knows where the packet itself begins: it is
 * copied from there. It is as long as its header says; a shorter one is malformed where its headers
 * end too soon, and else the kernel drops it. */
__noinline int skb_parse_network(struct __sk_buff *skb, struct packet *p)
{
	__u64 bytes, reach;
	struct cursor c;
	void *copy;

	if (!frames_have_outer || !p)
		return PARSE_MALFORMED;
	p->bytes = skb->len;
	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return PARSE_NON_IP;
	copy = only(&headers);
	if (!copy ||
	    bpf_skb_load_bytes_relative(skb, 0, copy, sizeof(struct iphdr), BPF_HDR_START_NET))
		return PARSE_MALFORMED;
	bytes = stated_bytes(skb, copy);
	if (!bytes)
		bytes = skb->len;
	reach = bytes < RL_HEADERS_SIZE(headers_reach) ? bytes : RL_HEADERS_SIZE(headers_reach);
	barrier_var(reach);
	if (reach < sizeof(struct iphdr) || reach > RL_HEADERS_SIZE(headers_reach) ||
	    bpf_skb_load_bytes_relative(skb, 0, copy, reach, BPF_HDR_START_NET))
		return PARSE_MALFORMED;
	p->bytes = bytes;
	c = (struct cursor){
		.pos = copy, .end = copy + reach, .start = copy, .reach = headers_reach};
	return packet_parse_ip(p, &c, skb->protocol, bytes);
}

/* Parses the part of the skb that can be read. */
__noinline int skb_parse_linear(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *data_end = (void *)(long)skb->data_end;
	struct cursor c = {.pos = data, .end = data_end, .start = data, .reach = TRANSPORT_MAX};

	if (!p)
		return PARSE_MALFORMED;
	p->flags = 0;
	p->headers = 0;
	if (frames_have_outer)
		return skb_parse_network(skb, p);
	if (frames_have_ethernet)
		return packet_parse(p, data, data_end, skb->len, skb->vlan_present != 0);
	return packet_parse_ip(p, &c, skb->protocol, skb->len);
}

/* The kernel moves the headers to where they can be read. */
static __always_inline int skb_parse_pulled(struct __sk_buff *skb, struct packet *p)
{
	__u32 reach = skb->len < TRANSPORT_MAX ? skb->len : TRANSPORT_MAX;

	return bpf_skb_pull_data(skb, reach) ? PARSE_MALFORMED : skb_parse_linear(skb, p);
}

static __always_inline bool skb_is_linear(const struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *data_end = (void *)(long)skb->data_end;

	return data_end - data >= skb->len;
}

/* Its packets and bytes on the wire. A machine's guests do not say how many segments they send,
 * only how large; of tunnels the kernel knows more headers than were parsed, and may say so in
 * wire_len. */
static __always_inline void skb_measure(struct __sk_buff *skb, struct packet *p)
{
	__u32 size = skb->gso_size, segments = skb->gso_segs;
	__u32 bytes = frames_have_outer ? p->bytes : skb->len;

	if (size && !segments && bytes > p->headers)
		segments = (bytes - p->headers + size - 1) / size;
	if (!size || !segments)
		segments = 1;
	bytes += (segments - 1) * p->headers;
	if (segments > 1 && skb->wire_len > bytes)
		bytes = skb->wire_len;
	if (skb->vlan_present)
		bytes += segments * sizeof(struct vlan_header);
	p->segments = segments;
	p->bytes = bytes;
}

static __always_inline long skb_load(struct __sk_buff *skb, __u32 at, void *to, __u32 bytes)
{
	if (frames_have_outer)
		return bpf_skb_load_bytes_relative(skb, at, to, bytes, BPF_HDR_START_NET);
	return bpf_skb_load_bytes(skb, at, to, bytes);
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
	int parse = skb_parse_linear(skb, p);

	if (parse == PARSE_MALFORMED && !skb_is_linear(skb))
		parse = skb_parse_pulled(skb, p);
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

#endif
