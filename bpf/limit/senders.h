/* SPDX-License-Identifier: GPL-2.0-only */
/* The senders of a limit of which they have parts (backend_parts.h): those that are known have a
 * bucket each, in the hot table under the limit and the sender; strangers have bins together. The
 * arithmetic is algorithm/share.h. Only with EXTENDED.
 */
#pragma once

#include "algorithm/share.h"
#include "limit/hot.h"
#include "limit/pace.h"
#include "match/group.h"
#include "match/known_source.h"

#if EXTENDED

/* The key of the sender's bucket: the source, or what the limit counts by. */
static __always_inline struct hot_key sender_key(struct packet *p, const struct rl_rule *rule)
{
	if (!rule->parts.classes)
		return hot_key_build(p, rule);
	return hot_key_of(known_address(p), hot_key_rest(rule->limit_id, rule->parts.index, 0), 0,
			  config.hot_mask);
}

/* The word of a sender's slot: above, when it was charged, so that the table takes it for a debt of
 * a second; below, how full its bucket is, by the clock of its class. After a minute it is empty.
 * Where a fast clock has turned the lower bits since, it reads as fuller than a bucket can be, and
 * what is stored then is the most that one may owe. */
#define PACED_BITS  30
#define PACED_MASK  ((1ull << PACED_BITS) - 1)
#define PACED_WORTH 16   /* << PACED_BITS: grains, a second */
#define PACED_IDLE  1024 /* a minute */

static __always_inline __u32 paced_shift(const struct rl_rule *rule)
{
	return rule->flags & RL_RULE_BYTES ? RL_SHARE_SHIFT : RL_SHARE_SHIFT / 2;
}

static __always_inline __u64 paced_read(__u64 word, __u64 clock, __u64 now, __u32 shift)
{
	__s64 ahead = (__s64)((word - (clock >> shift)) << (64 - PACED_BITS));
	__u64 idle = (now >> PACED_BITS) + PACED_WORTH - (word >> PACED_BITS);

	return idle > PACED_IDLE ? clock : clock + ((ahead >> (64 - PACED_BITS)) << shift);
}

static __always_inline __u64 paced_word(__u64 full, __u64 now, __u32 shift)
{
	return ((now >> PACED_BITS) + PACED_WORTH) << PACED_BITS | (full >> shift & PACED_MASK);
}

/* Charges the sender's bucket. Two CPUs that do at once: one packet costs nothing. */
__noinline int sender_takes(struct packet *p, const struct rl_rule *rule, struct rl_share *s,
			    struct rl_share_part *part)
{
	__u64 now_ns = clock_tick(), now = gcra_now(now_ns), old = 0, clock, full, before;
	struct rl_hot_slot *slot;
	struct rl_hot_set *set;
	__u32 way = RL_HOT_WAYS;
	struct hot_key key;
	bool admits;

	if (!p || !rule || !s || !part)
		return 0;
	key = sender_key(p, rule);
	share_see(part, key.fingerprint >> 32);
	if (share_is_open(part))
		return 1;
	slot = hot_look(&key, &set);
	if (!set)
		return 0;
	if (slot) {
		old = READ_ONCE(slot->word);
		way = ((__u64)slot - (__u64)set) / sizeof(*slot);
	}
	clock = share_clock(s, part, s->parts.step_ns, now_ns);
	full = paced_read(old, clock, now, paced_shift(rule));
	p->facts.sender.level = share_level(full, clock);
	before = full;
	admits = share_sender_admits(s, part, &s->parts, &full, key.fingerprint >> 32,
				     limit_amount(p, rule), now_ns);
	if (!admits && full == before)
		return 0;
	full = paced_word(full, now, paced_shift(rule));
	if (way == RL_HOT_WAYS) {
		hot_insert(set, key.fingerprint, full, now);
		return admits;
	}
	slot = &set->slot[way & (RL_HOT_WAYS - 1)]; /* older verifiers lose what `slot` was */
	if (hot_is(slot, key.fingerprint))
		__sync_val_compare_and_swap(&slot->word, old, full);
	return admits;
}

/* ---- strangers */

static __always_inline __u64 pattern_of(const struct packet *p)
{
	const struct facts *fact = &p->facts;
	__u64 flags = fact->lacks & RL_HAS_TCP ? 0 : FACT(TCP_FLAGS);
	__u64 port = p->flags & PACKET_PORTS ? p->dport : 0;

	return port << 48 | (__u64)(FACT(LENGTH) / 8) << 32 | flags << 16 | (__u64)FACT(TTL) << 8 |
	       p->proto;
}

static __always_inline __u64 source_network(const struct packet *p)
{
	const __u16 *half = (const __u16 *)p->src;

	return p->flags & PACKET_IPV4 ? half[6] : (__u64)half[0] << 32 | (__u64)half[1] << 16 | 1;
}

/* The bin of the limit's region of a row of so many bins. */
static __always_inline __u32 bin_of(const struct rl_rule *rule, __u32 size, __u64 what)
{
	__u32 part = size >> (rule->parts.bins_shift & 3);
	__u64 hash = hot_hash_word(config.hot_seed, true, what ^ (__u64)rule->limit_id << 24);

	return (rule->parts.index * part + ((hash >> 8) & (part - 1))) & (size - 1);
}

static __always_inline __u32 stranger_bin(const struct packet *p, const struct rl_rule *rule,
					  __u32 row)
{
	switch (row) {
	case RL_ROW_PATTERN:
		return bin_of(rule, RL_BINS_PATTERN, pattern_of(p));
	case RL_ROW_NETWORK:
		return RL_BINS_PATTERN + bin_of(rule, RL_BINS_NETWORK, source_network(p));
	}
	return RL_BINS_PATTERN + RL_BINS_NETWORK +
	       bin_of(rule, RL_BINS_PORT, (__u64)p->dport << 8 | p->proto);
}

/* A draw of a source stays for two seconds, which begin at another time for each. nth: of this
 * CPU's strangers; its multiples are as even as random ones. */
static __always_inline void stranger_draw(struct packet *p, __u64 nth)
{
	const __u64 stays = 1ull << SHARE_DRAW_SHIFT;
	__u64 source = known_address(p);
	__u64 epoch = (clock_tick() + (source & (stays - 1))) >> SHARE_DRAW_SHIFT;

	share_draw_begin(&p->facts.sender.draw,
			 hot_hash_word(config.hot_seed, true, source ^ epoch * HOT_GENERATION) >>
				 32,
			 nth * HOT_GENERATION >> 32);
}

/* Its bin of the row; false: the packet is refused. */
__noinline int stranger_row(struct packet *p, const struct rl_rule *rule, struct rl_shares *all,
			    __u32 row)
{
	const struct rl_share *s;
	__u32 bin;

	if (!p || !rule || !all)
		return 0;
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	bin = stranger_bin(p, rule, row) & (RL_BINS - 1);
	p->facts.sender.bin[row & 3] = bin;
	return share_row(&p->facts.sender.draw, &all->bins[bin], row, s, &s->parts,
			 limit_amount(p, rule), clock_tick());
}

/* The bucket of the bin that admits the least part. */
__noinline int stranger_bucket(struct packet *p, const struct rl_rule *rule, struct rl_shares *all)
{
	const struct rl_share *s;
	__u32 bin;

	if (!p || !rule || !all)
		return 0;
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	bin = p->facts.sender.bin[p->facts.sender.draw.cap & 3] & (RL_BINS - 1);
	return share_bin_takes(&p->facts.sender.draw, &all->bins[bin], s, &s->parts,
			       limit_amount(p, rule), clock_tick());
}

static __always_inline bool stranger_takes(struct packet *p, const struct rl_rule *rule,
					   struct rl_shares *all)
{
	for (__u32 row = 0; row < RL_ROWS; row++)
		if (!stranger_row(p, rule, all, row))
			return false;
	return p->facts.sender.draw.cap == RL_ROWS || stranger_bucket(p, rule, all);
}

static __always_inline __u32 sender_class(const struct packet *p)
{
	if (p->proof == PROOF_ESTABLISHED)
		return RL_SHARE_ESTABLISHED;
	return source_is_known(p) ? RL_SHARE_KNOWN : RL_SHARE_STRANGER;
}

#endif
