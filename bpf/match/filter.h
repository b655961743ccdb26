/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the policy's filters hold for a packet: expressions of pcap-filter(7), which become
 * instructions of the program before it is loaded (user/kernel/policy/filter_code.c). They run once
 * for each packet, and rules ask for their bits. Only with EXTENDED.
 */
#pragma once

#include "match/classify.h"
#include "clock.h"
#include "packet/packet.h"
#include "packet/skb_parse.h"

#define STRING(x) #x
#define NUMBER(x) STRING(x)

#if EXTENDED

/* Room for the instructions: user/kernel/policy/filters.c puts them in the place of these. */
__hidden __noinline __u32 filters_run(void *ctx, struct rl_filter_view *view)
{
	__u32 found;

	asm volatile(".rept " NUMBER(RL_FILTER_STEPS) "\n"
						      "%0 = 0\n"
						      ".endr\n"
		     : "=r"(found)
		     : "r"(ctx), "r"(view)
		     : "memory");
	return found;
}

static __always_inline long filter_copy(void *ctx, bool skb, struct rl_filter_view *view,
					__u64 bytes)
{
	barrier_var(bytes);
	if (bytes < RL_FILTER_LEAST || bytes > RL_FILTER_BYTES)
		return -1;
	return skb ? skb_load(ctx, view->start, view->bytes, bytes)
		   : bpf_xdp_load_bytes(ctx, view->start, view->bytes, bytes);
}

/* A capture may have less of a packet than that says. */
static __always_inline __u32 filter_room(void *ctx, bool skb, const struct packet *p)
{
	__u64 bytes;

	if (!config.clock_injected || skb)
		return p->facts.room;
	bytes = bpf_xdp_get_buff_len(ctx) - p->facts.network;
	return bytes < p->facts.room ? bytes : p->facts.room;
}

#define FRAGMENT_HEADER 8

/* Bytes of extension headers, but for the fragment header of a later fragment, which stands in
 * front of no transport header. */
static __always_inline __u32 filter_skipped(const struct packet *p)
{
	__u32 behind = p->flags & PACKET_LATER ? FRAGMENT_HEADER : 0;

	if (!(p->flags & PACKET_EXTENDED))
		return 0;
	return p->transport - p->facts.network - sizeof(struct ipv6hdr) - behind;
}

/* The fixed header of IPv6 in front of what was copied from after the extension headers. */
static __always_inline long filter_head(void *ctx, bool skb, struct rl_filter_view *view,
					const struct packet *p)
{
	struct ipv6hdr *ip = (void *)view->bytes;
	long failed;

	if (!(p->flags & PACKET_EXTENDED))
		return 0;
	failed = skb ? skb_load(ctx, p->facts.network, view->bytes, sizeof(*ip))
		     : bpf_xdp_load_bytes(ctx, p->facts.network, view->bytes, sizeof(*ip));
	ip->nexthdr = p->flags & PACKET_LATER ? IPPROTO_FRAGMENT : p->proto;
	return failed;
}

static __always_inline int filters_find(void *ctx, bool skb, struct decision *d)
{
	struct rl_filter_view *view;
	__u32 skipped;

	if (!d)
		return 0;
	view = &d->filter_view;
	skipped = filter_skipped(&d->p);
	view->start = d->p.facts.network + skipped;
	view->length = d->p.facts.room;
	view->room = filter_room(ctx, skb, &d->p) - skipped;
	view->found = 0;
	d->p.facts.filters = 0;
	if (!filter_copy(ctx, skb, view,
			 view->room < RL_FILTER_BYTES ? view->room : RL_FILTER_BYTES) &&
	    !filter_head(ctx, skb, view, &d->p))
		d->p.facts.filters = filters_run(ctx, view);
	return 0;
}

/* int: as global functions, which the verifier follows once. */
__noinline int xdp_filters(struct xdp_md *ctx, struct decision *d)
{
	return filters_find(ctx, false, d);
}

__noinline int skb_filters(struct __sk_buff *skb, struct decision *d)
{
	return filters_find(skb, true, d);
}

#endif
