// SPDX-License-Identifier: GPL-2.0-only
/* The differences of two policies. */
#include <string.h>

#include "policy/policy.h"

static bool same_lifetime(uint64_t a, uint64_t b)
{
	return a && b ? (a > b ? a - b : b - a) <= EXPIRY_SLACK_NS : a == b;
}

bool same_rule(const struct rule *a, const struct rule *b)
{
	return a->action == b->action && !memcmp(&a->limit, &b->limit, sizeof(a->limit)) &&
	       !strcmp(a->keep_set, b->keep_set) && same_lifetime(a->for_ns, b->for_ns) &&
	       !strcmp(a->comment, b->comment);
}

size_t policy_diff(const struct policy *from, const struct policy *to, policy_diff_fn tell,
		   void *arg)
{
	size_t i = 0, j = 0, count = 0;

	while (i < from->count || j < to->count) {
		const struct rule *left = i < from->count ? &from->rules[i] : NULL;
		const struct rule *right = j < to->count ? &to->rules[j] : NULL;
		int order = left && right ? rule_compare(left, right) : 0;

		if (order > 0)
			left = NULL;
		if (order < 0)
			right = NULL;
		i += !!left;
		j += !!right;
		if (left && right && same_rule(left, right))
			continue;
		if (tell)
			tell(left, right, arg);
		count++;
	}
	return count;
}
