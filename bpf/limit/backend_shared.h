/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend shared: the one bucket of a rule that all its packets share.
 *
 * At high rates that would be one cache line that all CPUs write. There each CPU takes a batch of
 * `rule->batch` packets or bytes at once and spends it alone.
 *
 * Bound: the shared bucket's capacity is smaller by one batch per CPU (numbers.c), so bucket and
 * batches together never hold more than the burst, and never admit more than burst + rate × time.
 * After BATCH_NS the rest of a batch returns to the bucket when its CPU sees the next packet; a CPU
 * that sees none keeps at most one batch from the others, until the bucket refills.
 */
#pragma once

#include "algorithm/gcra.h"
#include "algorithm/once.h"
#include "clock.h"
#include "limit/outcome.h"
#include "limit/pace.h"
#include "limit/plan.h"
#include "limit/state.h"

#define BATCH_NS 8000000 /* two ticks of the slowest common tick clock */

/* ---- this CPU's batch */

static __always_inline struct rl_batch *batch_find(const struct rl_rule *rule)
{
	__u32 counter_id = rule->counter_id;

	return rule->batch ? bpf_map_lookup_elem(&batches, &counter_id) : NULL;
}

static __always_inline bool batch_covers(const struct rl_rule *rule, const struct rl_batch *batch,
					 __u64 now_ns, __u64 amount)
{
	return batch->limit_id == rule->limit_id && batch->left >= amount &&
	       now_ns - batch->since_ns < BATCH_NS;
}

/* Returns the rest of an old batch; drops one of another limit that had the counters before. */
static __always_inline void batch_return(const struct rl_rule *rule, struct rl_batch *batch,
					 struct rl_state *bucket)
{
	if (batch->limit_id == rule->limit_id && batch->left)
		gcra_refund(&bucket->word, batch->left * rule->gcra.cost >> rule->gcra.cost_shift);
	batch->left = 0;
}

/* From the batch, or from a new one. False: the bucket has not so much; it may still have `amount`.
 */
static __always_inline bool batch_consume(struct packet *p, const struct rl_rule *rule,
					  struct rl_batch *batch, struct rl_state *bucket,
					  __u64 now_ns, __u64 amount)
{
	if (batch_covers(rule, batch, now_ns, amount)) {
		batch->left -= amount;
		return true;
	}
	batch_return(rule, batch, bucket);
	if (amount > rule->batch ||
	    !bucket_consume(p, rule, &bucket->word, gcra_now(now_ns), rule->batch))
		return false;
	batch->limit_id = rule->limit_id;
	batch->since_ns = now_ns;
	batch->left = rule->batch - amount;
	return true;
}

/* ---- the limit */

/* Plans the commit, but of a packet that is to be paced. */
static __always_inline bool shared_admits(const struct rl_rule *rule, __u64 now_ns, __u64 amount,
					  struct plan *plan)
{
	struct rl_batch *batch = batch_find(rule);
	__u64 now = gcra_now(now_ns), word, next, taken;
	struct rl_state *state;

	if (batch && batch_covers(rule, batch, now_ns, amount)) {
		plan_bucket(plan, PLAN_BATCH, 0, amount, RECEIPT_OF_BATCH);
		return true;
	}
	state = shared_find(rule);
	if (!state)
		return false;
	gcra_settle(&rule->gcra, &state->word, now);
	word = READ_ONCE(state->word);
	if (!gcra_offers(&rule->gcra, word, now, amount, &next, &taken))
		return false;
	if (!batch && !config.frames_leave)
		plan_bucket(plan, PLAN_SHARED, word, next, taken);
	if (EXTENDED && config.has_accounts)
		plan->index = rule->limit_id;
	return true;
}

/* Consumes as planned; false: another CPU has changed the bucket. */
static __always_inline bool shared_commit(const struct plan *plan)
{
	struct rl_state *state = shared_find_by(plan->counter_id, plan->index);

	return state &&
	       __sync_val_compare_and_swap(&state->word, plan->word, plan->next) == plan->word;
}

/* No other packet of this CPU comes between peek and commit. */
static __always_inline bool batch_commit(const struct plan *plan)
{
	__u32 counter_id = plan->counter_id;
	struct rl_batch *batch = bpf_map_lookup_elem(&batches, &counter_id);

	if (!batch)
		return false;
	batch->left -= plan->next;
	return true;
}

/* Apart, so that limit_consume, from which the longest chains of calls go on, needs no stack. */
__noinline int shared_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns,
			      __u64 amount)
{
	struct rl_state *state;
	struct rl_batch *batch;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	state = shared_find(rule);
	batch = batch_find(rule);
	if (!state)
		return OUTCOME_NO_ROOM;
	if (batch && batch_consume(p, rule, batch, state, now_ns, amount)) {
		p->receipt.grains = RECEIPT_OF_BATCH;
		return OUTCOME_WITHIN;
	}
	return bucket_consume(p, rule, &state->word, gcra_now(now_ns), amount) ? OUTCOME_WITHIN
									       : OUTCOME_OVER;
}

static __always_inline void shared_refund(const struct packet *p, const struct rl_rule *rule)
{
	struct rl_state *state;
	struct rl_batch *batch;

	if (p->receipt.grains != RECEIPT_OF_BATCH) {
		state = shared_find(rule);
		if (state)
			gcra_refund(&state->word, p->receipt.grains);
		return;
	}
	batch = batch_find(rule);
	if (batch)
		batch->left += limit_amount(p, rule);
}
