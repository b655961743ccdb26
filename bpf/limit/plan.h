/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan: what a peek at a bucket leaves for the commit, which then looks for nothing again and
 * only compares and swaps.
 */
#pragma once

#include "packet/packet.h"

/* How the bucket of a limit is to change, where a peek could say: in the hot table, the shared one
 * of a rule, or this CPU's batch of that. */
enum plan_kind { PLAN_NONE, PLAN_HOT, PLAN_SHARED, PLAN_BATCH };

/* The counters also of limits that are no buckets; the receipt is for refund. */
struct plan {
	__u32 counter_id; /* of the rule */
	__u16 kind;       /* enum plan_kind */
	__u16 way;
	__u64 index;       /* of the set; with has_accounts, a shared bucket's limit_id */
	__u64 fingerprint; /* of the key, flags zero */
	__u64 word;        /* that peek found */
	__u64 next;        /* that commit writes */
	union receipt receipt;
};

static __always_inline void plan_begin(struct plan *plan, const struct rl_rule *rule)
{
	plan->counter_id = rule->counter_id;
	plan->kind = PLAN_NONE;
}

static __always_inline void plan_bucket(struct plan *plan, enum plan_kind kind, __u64 word,
					__u64 next, __u64 taken)
{
	plan->kind = kind;
	plan->word = word;
	plan->next = next;
	plan->receipt.grains = taken;
}
