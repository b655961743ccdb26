/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of decided packets for those who watch (monitor, top). While nobody does, a packet reads
 * one word that no packet writes. A watcher renews its place each second; of one that died the
 * place is void by itself, and the packet that finds none taken turns the word off.
 *
 * Which packets go to a watcher is bpf/algorithm/sampling.h's; they go before the watcher knows how
 * many each stands for, which it says itself (user/kernel/sampling.h).
 *
 * Races: a watcher that begins while the last place becomes void may find the word turned off: it
 * sets it again with its next renewal. A packet that is interrupted by others of its CPU (egress)
 * may not be counted in its slot.
 */
#pragma once

#include "limit/account.h"
#include "algorithm/once.h"
#include "algorithm/sampling.h"

struct rl_board watch_board SEC(".data.watch") = {0};

static __always_inline bool is_watched(void)
{
	return READ_ONCE(watch_board.on);
}

/* Did the parser get as far as the addresses? */
static __always_inline bool reason_has_addresses(int reason)
{
	return reason != RL_REASON_NON_IP && reason != RL_REASON_MALFORMED;
}

static __always_inline __u32 limits_shown(const struct decision *d)
{
	return EXTENDED && d->shadowed ? d->shadowed : limits_bits(d);
}

/* The rule of the first limit that applied, in a program that proves of those over which the packet
 * passed, or of the rule that decided alone. */
static __always_inline __u32 decision_counter_id(const struct decision *d)
{
	struct rl_rule *rule;
	__u32 first = 0;

	if (d->decided)
		return d->counter_id;
	if (!d->limits)
		return RL_WATCH_ANY;
	while (first < DECISION_MAX - 1 && !(limits_shown(d) >> first & 1))
		first++;
	rule = matched_rule(d, first);
	return rule ? rule->counter_id : RL_WATCH_ANY;
}

/* Did the rule decide, or let the packet pass? */
__noinline int rule_took_part(const struct decision *d, __u32 counter_id)
{
	if (!d)
		return 0;
	if (d->decided)
		return d->counter_id == counter_id;
	for (__u32 i = 0; i < DECISION_MAX && i < d->limits; i++) {
		struct rl_rule *rule = matched_rule(d, i);

		if (rule && rule->counter_id == counter_id)
			return 1;
	}
	return 0;
}

/* Is the address one that the watcher asks for? */
static __always_inline bool watcher_knows(const struct rl_watcher *w, const __u8 addr[16])
{
	const __u64 *halves = (const __u64 *)addr;

	return !(((halves[0] ^ w->addr[0]) & w->mask[0]) | ((halves[1] ^ w->addr[1]) & w->mask[1]));
}

static __always_inline bool watcher_wants(const struct rl_watcher *w, const struct decision *d,
					  int reason)
{
	if (!(w->reasons >> (reason & 31) & 1))
		return false;
	if (w->family) {
		if (!reason_has_addresses(reason) ||
		    w->family != (d->p.flags & PACKET_IPV4 ? 4 : 6))
			return false;
		if (!watcher_knows(w, d->p.src) && !watcher_knows(w, d->p.dst))
			return false;
	}
	return w->counter_id == RL_WATCH_ANY || rule_took_part(d, w->counter_id);
}

/* ---- what a sample says */

static __always_inline void sample_packet(struct rl_sample *sample, const struct packet *p)
{
	sample->bytes = p->bytes;
	sample->packets = packet_count(p);
	sample->sport = p->sport;
	sample->dport = p->dport;
	sample->has_ports = !!(p->flags & PACKET_PORTS);
	sample->proto = p->proto;
	sample->vlan = packet_vlan(p);
	__builtin_memcpy(sample->src, p->src, sizeof(sample->src));
	__builtin_memcpy(sample->dst, p->dst, sizeof(sample->dst));
}

/* The bounds are asked for one by one, in a form that Linux 6.1 learns them from. */
static __always_inline void sample_frame(struct rl_sample *sample, void *ctx, bool skb)
{
	__u64 kept = skb ? ((struct __sk_buff *)ctx)->len : bpf_xdp_get_buff_len(ctx);

	sample->kept = 0;
	if (kept < ETH_HLEN) /* cannot be */
		return;
	barrier_var(kept);
	if (kept > RL_FRAME_KEPT)
		kept = RL_FRAME_KEPT;
	barrier_var(kept);
	if (!(skb ? bpf_skb_load_bytes(ctx, 0, sample->frame, kept)
		  : bpf_xdp_load_bytes(ctx, 0, sample->frame, kept)))
		sample->kept = kept;
}

static __always_inline struct rl_watch_count *watch_count_of(__u32 watcher, int reason)
{
	__u32 stream = 2 * watcher + reason_passes(reason);

	return bpf_map_lookup_elem(&watch_counts, &stream);
}

static __always_inline int sample_put(void *ctx, bool skb, struct decision *d, int reason,
				      __u32 watcher, __u32 tag)
{
	struct rl_watch_count *count = watch_count_of(watcher, reason);
	void *ring = bpf_map_lookup_elem(&rings, &watcher);
	struct rl_sample *sample;

	if (!ring || !count || !d)
		return 0;
	sample = bpf_ringbuf_reserve(ring, sizeof(*sample), 0);
	if (!sample) {
		count->lost++;
		return 0;
	}
	sample->time_ns = clock_precise(&d->p);
	sample->now = count->now;
	sample->before = count->before;
	sample->tag = tag;
	sample->cpu = bpf_get_smp_processor_id();
	sample->counter_id = decision_counter_id(d);
	sample->reason = reason;
	sample->alarms = d->alarmed;
	sample_packet(sample, &d->p);
	sample_frame(sample, ctx, skb);
	bpf_ringbuf_submit(sample, 0);
	return 0;
}

__noinline int xdp_sample(struct xdp_md *ctx, struct decision *d, int reason, __u32 watcher,
			  __u32 tag)
{
	return sample_put(ctx, false, d, reason, watcher, tag);
}

__noinline int skb_sample(struct __sk_buff *skb, struct decision *d, int reason, __u32 watcher,
			  __u32 tag)
{
	return sample_put(skb, true, d, reason, watcher, tag);
}

/* 1 + the tag of a packet that is handed over; 0: it is not. */
__noinline __u64 watcher_takes(struct decision *d, int reason, __u32 i)
{
	struct rl_watch_count *count;
	struct rl_watcher *w;
	__u32 tag;

	if (!d || i >= RL_WATCHERS)
		return 0;
	w = &watch_board.watcher[i];
	if (!watcher_wants(w, d, reason))
		return 0;
	count = watch_count_of(i, reason);
	tag = bpf_get_prandom_u32();
	if (!count || !sampling_takes(&w->stream[reason_passes(reason)], count, clock_tick(), tag))
		return 0;
	return 1ull + tag;
}

static __always_inline void watcher_see(void *ctx, bool skb, struct decision *d, int reason,
					__u32 i)
{
	__u64 taken = watcher_takes(d, reason, i);

	if (!taken)
		return;
	if (skb)
		skb_sample(ctx, d, reason, i, taken - 1);
	else
		xdp_sample(ctx, d, reason, i, taken - 1);
}

/* Shows the packet to all who watch. */
static __always_inline int packet_watch(void *ctx, bool skb, struct decision *d, int reason)
{
	__u64 now_ns = clock_tick();
	bool anybody = false;

	if (!d)
		return 0;
	for (__u32 i = 0; i < RL_WATCHERS; i++) {
		if (READ_ONCE(watch_board.watcher[i].until_ns) <= now_ns)
			continue;
		watcher_see(ctx, skb, d, reason, i);
		anybody = true;
	}
	if (!anybody)
		watch_board.on = 0;
	return 0;
}

__noinline int xdp_watch(struct xdp_md *ctx, struct decision *d, int reason)
{
	return packet_watch(ctx, false, d, reason);
}

__noinline int skb_watch(struct __sk_buff *skb, struct decision *d, int reason)
{
	return packet_watch(skb, true, d, reason);
}
