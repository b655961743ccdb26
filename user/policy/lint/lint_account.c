// SPDX-License-Identifier: GPL-2.0-only
#include "policy/lint/lint_account.h"

#include <errno.h>
#include <stdlib.h>

#include "algorithm/key_parts.h"
#include "policy/lint/lint_limit.h"

static bool has_account(const struct rule *rule)
{
	return is_limit(rule) && parts_are_account(&rule->limit);
}

/* Rules of one bucket stand together, in the policy's order. */
static int account_compare(const void *a, const void *b)
{
	const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

	if (x->limit.account != y->limit.account)
		return x->limit.account < y->limit.account ? -1 : 1;
	if ((x->limit.unit == RL_PACKETS) != (y->limit.unit == RL_PACKETS))
		return x->limit.unit == RL_PACKETS ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool is_same_account(const struct rule *a, const struct rule *b)
{
	return a->limit.account == b->limit.account &&
	       (a->limit.unit == RL_PACKETS) == (b->limit.unit == RL_PACKETS);
}

static bool is_same_limit(const struct rl_limit *a, const struct rl_limit *b)
{
	return a->algorithm == b->algorithm && a->amount == b->amount &&
	       a->period_ns == b->period_ns && a->size == b->size && a->unit == b->unit;
}

int accounts_differ(const struct policy *policy, account_found_fn found, void *arg)
{
	const struct rule **rules =
		(const struct rule **)calloc(policy->count + 1, sizeof(const struct rule *));
	const struct rule *first = NULL;
	size_t count = 0;

	if (!rules)
		return -ENOMEM;
	policy_for_each (policy, rule)
		if (has_account(rule))
			rules[count++] = rule;
	qsort(rules, count, sizeof(const struct rule *), account_compare);
	for (size_t i = 0; i < count; i++) {
		if (!first || !is_same_account(first, rules[i]))
			first = rules[i];
		if (!is_same_limit(&first->limit, &rules[i]->limit))
			found(rules[i], arg);
	}
	free(rules);
	return 0;
}
