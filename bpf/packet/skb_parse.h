/* SPDX-License-Identifier: GPL-2.0-only */
/* The headers of a frame as tc hands it over, an skb: a VLAN tag may be beside it, and headers may
 * lie outside of what can be read.
 */
#pragma once

#include "common.h"
#include "packet/parse.h"

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

	if (!config.frames_have_outer || !p)
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
	reach = bytes < RL_HEADERS_SIZE(config.headers_reach)
			? bytes
			: RL_HEADERS_SIZE(config.headers_reach);
	barrier_var(reach);
	if (reach < sizeof(struct iphdr) || reach > RL_HEADERS_SIZE(config.headers_reach) ||
	    bpf_skb_load_bytes_relative(skb, 0, copy, reach, BPF_HDR_START_NET))
		return PARSE_MALFORMED;
	p->bytes = bytes;
	c = cursor_at(copy, copy + reach, config.headers_reach, true);
	return packet_parse_ip(p, &c, skb->protocol, bytes);
}

/* Parses the part of the skb that can be read. */
__noinline int skb_parse_linear(struct __sk_buff *skb, struct packet *p)
{
	struct cursor c = cursor_at((void *)(long)skb->data, (void *)(long)skb->data_end,
				    TRANSPORT_MAX, true);

	if (!p)
		return PARSE_MALFORMED;
	p->flags = 0;
	p->headers = 0;
	if (config.frames_have_outer)
		return skb_parse_network(skb, p);
	if (config.frames_have_ethernet)
		return packet_parse(p, c, skb->len, skb->vlan_present != 0);
	return packet_parse_ip(p, &c, skb->protocol, skb->len);
}

/* Where the part that can be read is not all, and seems malformed, the kernel moves the headers to
 * where they can be read.
 */
static __always_inline int skb_parse_headers(struct __sk_buff *skb, struct packet *p)
{
	int parse = skb_parse_linear(skb, p);
	__u32 reach;

	if (parse != PARSE_MALFORMED ||
	    (void *)(long)skb->data_end - (void *)(long)skb->data >= skb->len)
		return parse;
	reach = skb->len < TRANSPORT_MAX ? skb->len : TRANSPORT_MAX;
	return bpf_skb_pull_data(skb, reach) ? PARSE_MALFORMED : skb_parse_linear(skb, p);
}

static __always_inline long skb_load(struct __sk_buff *skb, __u32 at, void *to, __u32 bytes)
{
	if (config.frames_have_outer)
		return bpf_skb_load_bytes_relative(skb, at, to, bytes, BPF_HDR_START_NET);
	return bpf_skb_load_bytes(skb, at, to, bytes);
}
