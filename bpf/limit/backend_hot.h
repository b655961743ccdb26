/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend hot: token and leaky buckets in the hot table, a word each (algorithm/gcra.h). */
#pragma once

#include "limit/hot.h"
#include "limit/outcome.h"
#include "limit/plan.h"

/* Changes nothing but a bucket whose numbers changed, and the flag that its key came back. Plans
 * the commit where the key has a slot; not where a packet is to be paced, which takes the level. */
static __always_inline bool hot_admits(struct packet *p, const struct rl_rule *rule, __u64 now_ns,
				       __u64 amount, struct plan *plan)
{
	__u64 now = gcra_now(now_ns), word, next, taken;
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);

	if (!set)
		return false;
	if (slot) {
		word = READ_ONCE(slot->word);
		if (gcra_offers(&rule->gcra, word, now, amount, &next, &taken)) {
			if (config.frames_leave)
				return true;
			plan_bucket(plan, PLAN_HOT, word, next, taken);
			plan->index = key.set;
			plan->fingerprint = key.fingerprint;
			plan->way = ((__u64)slot - (__u64)set) / sizeof(*slot);
			return true;
		}
		if (hot_is(slot, key.fingerprint)) {
			gcra_settle_from(&rule->gcra, &slot->word, word, now);
			hot_mark(slot, key.fingerprint);
			return false;
		}
	}
	return gcra_admits(&rule->gcra, hot_recall(set, key.fingerprint, rule, now), now, amount,
			   &next);
}

/* Consumes as planned; false: another CPU has changed the bucket or taken its slot. */
static __always_inline bool hot_commit(const struct plan *plan)
{
	__u32 index = plan->index;
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &index);
	struct rl_hot_slot *slot;

	if (!set)
		return false;
	slot = &set->slot[plan->way & (RL_HOT_WAYS - 1)];
	if (!hot_is(slot, plan->fingerprint))
		return false;
	hot_mark(slot, plan->fingerprint);
	return __sync_val_compare_and_swap(&slot->word, plan->word, plan->next) == plan->word;
}

/* One attempt of bucket_consume from a slot that is the key's. */
static __always_inline enum gcra_tried hot_slot_try(struct packet *p, const struct rl_rule *rule,
						    struct rl_hot_slot *slot, __u64 now,
						    __u64 amount, __u64 old)
{
	enum gcra_tried tried;
	__u64 level;

	gcra_settle_from(&rule->gcra, &slot->word, old, now);
	tried = gcra_try(&rule->gcra, &slot->word, old, now, amount, &p->receipt.grains, &level);
	if (tried == GCRA_TAKEN)
		packet_hold(p, rule, level);
	return tried;
}

/* The same, apart, so that the verifier follows it once for all attempts. */
__noinline int hot_slot_try_apart(struct packet *p, const struct rl_rule *rule,
				  struct rl_hot_slot *slot, __u64 now, __u64 old)
{
	if (!p || !rule || !slot)
		return GCRA_REFUSED;
	return hot_slot_try(p, rule, slot, now, limit_amount(p, rule), old);
}

/* The others, after another CPU was quicker. GCRA_LOST: it no longer is the key's. */
__noinline int hot_slot_retry(struct packet *p, const struct rl_rule *rule,
			      struct rl_hot_slot *slot, __u64 fingerprint, __u64 now)
{
	if (!p || !rule || !slot)
		return GCRA_REFUSED;
	for (int i = 1; i < GCRA_TRIES; i++) {
		__u64 old = READ_ONCE(slot->word);
		enum gcra_tried tried;

		if (!hot_is(slot, fingerprint))
			return GCRA_LOST;
		tried = hot_slot_try_apart(p, rule, slot, now, old);
		if (tried != GCRA_LOST)
			return tried;
	}
	return GCRA_REFUSED;
}

/* GCRA_LOST: the slot is not the key's. */
static __always_inline enum gcra_tried hot_slot_consume(struct packet *p,
							const struct rl_rule *rule,
							struct rl_hot_slot *slot, __u64 fingerprint,
							__u64 now, __u64 amount)
{
	__u64 old = READ_ONCE(slot->word);
	enum gcra_tried tried;

	if (!hot_is(slot, fingerprint))
		return GCRA_LOST;
	tried = hot_slot_try(p, rule, slot, now, amount, old);
	return tried == GCRA_LOST ? hot_slot_retry(p, rule, slot, fingerprint, now) : tried;
}

/* Consumes from the bucket of a key that has no slot, and gives it one. Apart, so that keys with a
 * slot need fewer registers. */
__noinline int hot_consume_new(struct packet *p, const struct rl_rule *rule, struct rl_hot_set *set,
			       __u64 fingerprint, __u64 now)
{
	__u64 word, next, level;

	if (!p || !rule || !set)
		return 0;
	word = hot_recall(set, fingerprint, rule, now);
	if (!gcra_admits(&rule->gcra, word, now, limit_amount(p, rule), &next))
		return 0;
	pressure_count(RL_PRESSURE_STRANGERS);
	level = gcra_level(&rule->gcra, word, now);
	p->receipt.grains = next - now - level;
	packet_hold(p, rule, level);
	if (level)
		fingerprint |= HOT_AGAIN; /* it was, before it was spilled */
	hot_insert(set, fingerprint, next, now);
	return 1;
}

/* Consumes from the key's bucket. */
static __always_inline bool hot_consume_now(struct packet *p, const struct rl_rule *rule, __u64 now,
					    __u64 amount)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	enum gcra_tried tried = GCRA_LOST;

	if (!set)
		return false;
	if (slot) {
		hot_mark(slot, key.fingerprint);
		tried = hot_slot_consume(p, rule, slot, key.fingerprint, now, amount);
	}
	return tried == GCRA_LOST ? hot_consume_new(p, rule, set, key.fingerprint, now)
				  : tried == GCRA_TAKEN;
}

/* The same, apart, for packets of several limits. */
__noinline int hot_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	return hot_consume_now(p, rule, gcra_now(now_ns), limit_amount(p, rule)) ? OUTCOME_WITHIN
										 : OUTCOME_OVER;
}

/* The first instant at which a bucket that has just refused may admit; not after `now`: unknown. */
static __always_inline __u64 hot_refused_until(const struct rl_rule *rule, __u64 word, __u64 now)
{
	return word - now > rule->gcra.capacity ? now : gcra_until(&rule->gcra, word);
}

static __always_inline void hot_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);

	if (slot)
		hot_return(slot, key.fingerprint, p->receipt.grains);
}
