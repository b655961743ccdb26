/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of decided packets for those who watch (monitor, top). While nobody does, a packet reads
 * one word that no packet writes. A watcher renews its place each second; of one that died the
 * place is void by itself, and the packet that finds none taken turns the word off.
 *
 * One packet in `mean` is a sample, drawn at random, so that a source has the share of the samples
 * that it has of the packets, in whatever order they come. Each says how many packets it stands
 * for. The mean is fitted to the packets of the last window; where they become more, it doubles
 * with each sample beyond the target, and what the budget does not hold is not taken, before
 * anything is reserved. All CPUs share budget and mean, and write them once a sample.
 *
 * Races: two CPUs that begin a window at once: one of them resets it, and the other may have taken
 * a sample of the window before. Bound: one sample for each CPU and window beyond the budget. A
 * watcher that begins while the last place becomes void may find the word turned off: it sets it
 * again with its next renewal.
 */
#ifndef RLCTL_BPF_WATCH_H
#define RLCTL_BPF_WATCH_H

#include "account.h"
#include "algorithm/once.h"

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

/* The rule of the first limit that applied, or of the rule that decided alone. */
static __always_inline __u32 decision_counter_id(const struct decision *d)
{
	struct rl_rule *rule;
	__u32 first = 0;

	if (d->decided)
		return d->counter_id;
	if (!d->matched)
		return RL_WATCH_ANY;
	while (first < DECISION_MAX - 1 && !(d->matched >> first & 1))
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
	for (__u32 i = 0; i < DECISION_MAX && d->matched >> i; i++) {
		struct rl_rule *rule = d->matched & 1u << i ? matched_rule(d, i) : NULL;

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

/* ---- which packets are samples */

/* 0 to 2 * mean - 2, on average mean - 1. */
static __always_inline __u32 skip_draw(__u32 mean)
{
	return (__u64)bpf_get_prandom_u32() * (2 * mean - 1) >> 32;
}

/* A new window: the mean is what the one before should have had. Packets of one that has been over
 * for as long as it lasted say nothing of now. */
static __always_inline void stream_turn(struct rl_stream *s, __u64 now_ns)
{
	__u64 end = READ_ONCE(s->window_end_ns), mean = 1;

	if (__sync_val_compare_and_swap(&s->window_end_ns, end, now_ns + s->window_ns) != end)
		return;
	if (now_ns < end + s->window_ns && s->target)
		mean = s->counted / s->target;
	s->mean = mean < 1 ? 1 : mean < RL_MEAN_MAX ? mean : RL_MEAN_MAX;
	s->counted = 0;
	s->used = 0;
}

/* Counts a packet of the stream. Is it a sample? */
static __always_inline bool stream_sample(struct rl_stream *s, struct rl_watch_count *c,
					  __u64 now_ns)
{
	__u32 mean, used;

	if (now_ns >= READ_ONCE(s->window_end_ns))
		stream_turn(s, now_ns);
	if (now_ns - c->last_ns > s->window_ns) { /* what waits is of the past */
		c->waiting = 0;
		c->untold = 0;
		c->skip = 0;
	}
	c->last_ns = now_ns;
	c->packets++;
	c->waiting++;
	c->untold++;
	mean = READ_ONCE(s->mean);
	if (c->skip >= 2 * mean)
		c->skip = skip_draw(mean);
	if (c->skip) {
		c->skip--;
		return false;
	}
	__sync_fetch_and_add(&s->counted, c->untold);
	c->untold = 0;
	used = __sync_fetch_and_add(&s->used, 1);
	if (used >= s->target && mean < RL_MEAN_MAX)
		s->mean = mean = 2 * mean;
	c->skip = skip_draw(mean);
	return used < s->budget;
}

/* ---- what a sample says */

static __always_inline void sample_packet(struct rl_sample *sample, const struct packet *p)
{
	sample->bytes = p->bytes;
	sample->sport = p->sport;
	sample->dport = p->dport;
	sample->has_ports = !!(p->flags & PACKET_PORTS);
	sample->proto = p->proto;
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

/* False where the ring has no room. */
static __always_inline bool sample_put(void *ctx, bool skb, struct decision *d, int reason,
				       __u32 watcher, __u64 stands_for)
{
	void *ring = bpf_map_lookup_elem(&rings, &watcher);
	struct rl_sample *sample;

	if (!ring || !d)
		return false;
	sample = bpf_ringbuf_reserve(ring, sizeof(*sample), 0);
	if (!sample)
		return false;
	sample->time_ns = clock_precise(&d->p);
	sample->stands_for = stands_for;
	sample->counter_id = decision_counter_id(d);
	sample->reason = reason;
	__builtin_memset(sample->pad, 0, sizeof(sample->pad));
	sample_packet(sample, &d->p);
	sample_frame(sample, ctx, skb);
	bpf_ringbuf_submit(sample, 0);
	return true;
}

__noinline int xdp_sample(struct xdp_md *ctx, struct decision *d, int reason, __u32 watcher,
			  __u64 stands_for)
{
	return sample_put(ctx, false, d, reason, watcher, stands_for);
}

__noinline int skb_sample(struct __sk_buff *skb, struct decision *d, int reason, __u32 watcher,
			  __u64 stands_for)
{
	return sample_put(skb, true, d, reason, watcher, stands_for);
}

static __always_inline struct rl_watch_count *watch_count_of(__u32 watcher, int reason)
{
	__u32 stream = 2 * watcher + reason_passes(reason);

	return bpf_map_lookup_elem(&watch_counts, &stream);
}

/* For how many packets this one is to stand as a sample; 0: it is none. */
__noinline __u64 watcher_asks(struct decision *d, int reason, __u32 i)
{
	struct rl_watch_count *count;
	struct rl_watcher *w;

	if (!d || i >= RL_WATCHERS)
		return 0;
	w = &watch_board.watcher[i];
	if (!watcher_wants(w, d, reason))
		return 0;
	count = watch_count_of(i, reason);
	if (!count || !stream_sample(&w->stream[reason_passes(reason)], count, clock_tick()))
		return 0;
	return count->waiting;
}

static __always_inline void watcher_see(void *ctx, bool skb, struct decision *d, int reason,
					__u32 i)
{
	__u64 stands_for = watcher_asks(d, reason, i);
	struct rl_watch_count *count;

	if (!stands_for)
		return;
	count = watch_count_of(i, reason);
	if (!count)
		return;
	if (skb ? skb_sample(ctx, d, reason, i, stands_for)
		: xdp_sample(ctx, d, reason, i, stands_for))
		count->waiting = 0;
	else
		count->lost++;
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

#endif
