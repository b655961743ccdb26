/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules of samples, found by their slot. */
#pragma once

#include "kernel/instance/instance.h"
#include "policy/sets/member.h"
#include "policy/policy.h"

/* The policy in force; read again if it changed. */
struct rule_book {
	const struct instance *instance;
	struct policy_context ctx;
	struct policy policy;
	uint64_t generation;
	bool read;
};

void rule_book_init(struct rule_book *book, const struct instance *instance);
void rule_book_clear(struct rule_book *book);

/* Reads the policy again if it changed. 0 or negative. */
int rule_book_refresh(struct rule_book *book);

/* The rule with that slot of counters; NULL: RL_WATCH_ANY, or one that was removed. */
const struct rule *rule_counted(const struct policy *policy, uint32_t counter_id);

/* The member by which a rule of a set is for the sampled packet: false if it is none any more, or
 * the rule is of no set. */
bool rule_book_member(const struct rule_book *book, const struct rule *rule,
		      const struct rl_sample *sample, struct member *out);

/* Was the packet parsed as far as its addresses? */
bool sample_has_addresses(const struct rl_sample *sample);
