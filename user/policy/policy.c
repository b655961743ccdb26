// SPDX-License-Identifier: GPL-2.0-only
/* The model of a policy: rules in canonical order, what differs between two, and errors. */

#include "policy/policy.h"

#include "algorithm/key_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"

static int u64_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static bool is_ipv6(const struct rule *rule)
{
	return rule->kind == PREFIX_ADDR && !prefix_is_ipv4(rule->addr, rule->len);
}

static int prefix_compare(const struct rule *a, const struct rule *b)
{
	int order = u64_compare(a->kind, b->kind);

	if (!order && a->kind == PREFIX_SET)
		return strcmp(a->set, b->set);
	return order ?: u64_compare(is_ipv6(a), is_ipv6(b)) ?:
	       memcmp(a->addr, b->addr, sizeof(a->addr)) ?: u64_compare(a->len, b->len);
}

bool same_prefix(const struct rule *a, const struct rule *b)
{
	return !prefix_compare(a, b);
}

size_t policy_prefix_count(const struct policy *policy, size_t index)
{
	size_t end = index + 1;

	while (end < policy->count && same_prefix(&policy->rules[index], &policy->rules[end]))
		end++;
	return end - index;
}

void match_normalize(struct match *match)
{
	if (!(match->flags & RL_MATCH_OF_TCP) || match->flags & RL_MATCH_PROTO)
		return;
	match->flags |= RL_MATCH_PROTO;
	match->proto = IPPROTO_TCP;
}

/* Compares protocols and ports as numbers, in the order in which they are printed. */
static int match_compare(const struct match *a, const struct match *b)
{
	const uint64_t fields[][2] = {
		{a->flags, b->flags},           {a->negated, b->negated},
		{a->proto, b->proto},           {a->sport_first, b->sport_first},
		{a->sport_last, b->sport_last}, {a->dport_first, b->dport_first},
		{a->dport_last, b->dport_last}, {a->src_len, b->src_len},
		{a->dst_len, b->dst_len},
	};
	int order;

	if (!memcmp(a, b, sizeof(*a)))
		return 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i][0] != fields[i][1])
			return u64_compare(fields[i][0], fields[i][1]);
	order = memcmp(a->src, b->src, sizeof(a->src));
	return order ? order : memcmp(a->dst, b->dst, sizeof(a->dst));
}

static int conditions_compare(const struct rule *a, const struct rule *b)
{
	int order = match_compare(&a->match, &b->match);

	if (order || a->extra == b->extra)
		return order;
	if (!a->extra || !b->extra)
		return a->extra ? 1 : -1;
	return memcmp(a->extra, b->extra, sizeof(*a->extra));
}

bool same_match(const struct rule *a, const struct rule *b)
{
	return !conditions_compare(a, b);
}

static uint64_t limit_identity(const struct rl_limit *limit)
{
	return (uint64_t)limit->key_parts << 48 | (uint64_t)limit->dest_len4 << 40 |
	       (uint64_t)limit->dest_len6 << 32 | (uint64_t)limit->key << 24 |
	       (uint64_t)limit->key_len4 << 16 | (uint64_t)limit->key_len6 << 8 |
	       (limit->unit == RL_CONNECTIONS ? 2 : limit->unit != RL_PACKETS);
}

static bool is_limit(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT;
}

static uint32_t account_of(const struct rule *rule)
{
	return parts_are_account(&rule->limit) ? rule->limit.account : 0;
}

int rule_compare(const struct rule *a, const struct rule *b)
{
	int order = prefix_compare(a, b) ?: u64_compare(is_limit(a), is_limit(b)) ?:
		    conditions_compare(a, b);

	if (order || !is_limit(a))
		return order;
	return u64_compare(limit_identity(&a->limit), limit_identity(&b->limit))
		       ?: u64_compare(account_of(a), account_of(b));
}

enum rl_key_kind rule_default_key(const struct rule *rule, const struct policy_context *ctx)
{
	if (rule->kind == PREFIX_DEVICE || rule->limit.share[0] || rule->limit.keep_for)
		return RL_KEY_RULE;
	return ctx->by_dest ? RL_KEY_DEST : RL_KEY_SOURCE;
}

int policy_append(struct policy *policy, const struct rule *rule)
{
	struct rule *rules =
		array_room(policy->rules, policy->count, &policy->capacity, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	policy->rules = rules;
	rules[policy->count++] = *rule;
	return 0;
}

/* qsort is not stable: the line orders rules of the same identity. */
static int written_compare(const void *a, const void *b)
{
	const struct rule *left = a, *right = b;
	int order = rule_compare(left, right);

	return order ? order : u64_compare(left->line, right->line);
}

/* A replaced rule and the one after it, which replaces it. */
static int pair_compare(const void *a, const void *b)
{
	const struct rule *left = a, *right = b;

	return u64_compare(left[1].line, right[1].line);
}

int policy_sort(struct policy *policy, struct policy *replaced)
{
	size_t kept = 0, sorted = 1;
	int rc = 0;

	/* The output of `show` is sorted already. */
	while (sorted < policy->count &&
	       written_compare(&policy->rules[sorted - 1], &policy->rules[sorted]) <= 0)
		sorted++;
	if (sorted < policy->count)
		qsort(policy->rules, policy->count, sizeof(*policy->rules), written_compare);
	policy_for_each (policy, rule) {
		if (kept && !rule_compare(&policy->rules[kept - 1], rule)) {
			kept--;
			if (replaced && !rc)
				rc = policy_append(replaced, &policy->rules[kept]);
			if (replaced && !rc)
				rc = policy_append(replaced, rule);
		}
		policy->rules[kept++] = *rule;
	}
	policy->count = kept;
	if (replaced && replaced->count && !rc)
		qsort(replaced->rules, replaced->count / 2, 2 * sizeof(*replaced->rules),
		      pair_compare);
	return rc;
}

/* Index of the first rule that is not before `wanted`. */
static size_t lower_bound(const struct policy *policy, const struct rule *wanted,
			  int (*compare)(const struct rule *a, const struct rule *b))
{
	size_t first = 0, last = policy->count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (compare(&policy->rules[middle], wanted) < 0)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

struct rule *policy_find(const struct policy *policy, const struct rule *identity)
{
	size_t at = lower_bound(policy, identity, rule_compare);

	if (at == policy->count || rule_compare(&policy->rules[at], identity))
		return NULL;
	return &policy->rules[at];
}

int policy_put(struct policy *policy, const struct rule *rule)
{
	size_t at = lower_bound(policy, rule, rule_compare);
	struct rule copy = *rule; /* may lie in the array that moves */
	int rc;

	if (at < policy->count && !rule_compare(&policy->rules[at], rule)) {
		policy->rules[at] = copy;
		return 0;
	}
	rc = policy_append(policy, &copy);
	if (rc)
		return rc;
	memmove(&policy->rules[at + 1], &policy->rules[at],
		(policy->count - 1 - at) * sizeof(*policy->rules));
	policy->rules[at] = copy;
	return 0;
}

static bool selector_selects(const struct rule *selector, const struct rule *rule)
{
	if (!same_match(selector, rule))
		return false;
	if (selector->action == RL_ACTION_COUNT)
		return true;
	return selector->action == rule->action && !rule_compare(selector, rule);
}

const struct rule *policy_select(const struct policy *policy, const struct rule *selector,
				 size_t *count)
{
	const struct rule *first = NULL;

	*count = 0;
	policy_for_each (policy, rule) {
		if (prefix_compare(rule, selector) || !selector_selects(selector, rule))
			continue;
		if (!(*count)++)
			first = rule;
	}
	return first;
}

size_t policy_remove(struct policy *policy, const struct rule *selector)
{
	size_t first = lower_bound(policy, selector, prefix_compare);
	size_t last = first, kept = first;

	for (; last < policy->count && !prefix_compare(&policy->rules[last], selector); last++)
		if (!selector_selects(selector, &policy->rules[last]))
			policy->rules[kept++] = policy->rules[last];
	if (kept != last)
		memmove(&policy->rules[kept], &policy->rules[last],
			(policy->count - last) * sizeof(*policy->rules));
	policy->count -= last - kept;
	return last - kept;
}

void policy_subtract(struct policy *policy, const struct policy *rules,
		     void (*missing)(const struct rule *rule, void *arg), void *arg)
{
	size_t at = 0, kept = 0;

	policy_for_each (rules, rule) {
		while (at < policy->count && rule_compare(&policy->rules[at], rule) < 0)
			policy->rules[kept++] = policy->rules[at++];
		if (at < policy->count && !rule_compare(&policy->rules[at], rule) &&
		    policy->rules[at].action == rule->action)
			at++;
		else
			missing(rule, arg);
	}
	while (at < policy->count)
		policy->rules[kept++] = policy->rules[at++];
	policy->count = kept;
}

int policy_prefix_replace(struct policy *policy, const struct rule *prefix,
			  const struct policy *rules)
{
	size_t first = lower_bound(policy, prefix, prefix_compare), last = first;
	int ret = 0;

	while (last < policy->count && !prefix_compare(&policy->rules[last], prefix))
		last++;
	if (last > first)
		memmove(&policy->rules[first], &policy->rules[last],
			(policy->count - last) * sizeof(*policy->rules));
	policy->count -= last - first;
	policy_for_each (rules, rule)
		ret = ret ? ret : policy_put(policy, rule);
	return ret;
}

void policy_clear(struct policy *policy)
{
	free(policy->rules);
	free(policy->sets);
	free(policy->alarms);
	memset(policy, 0, sizeof(*policy));
}

/* ---- two policies */

bool same_rule(const struct rule *a, const struct rule *b)
{
	uint64_t apart = a->for_ns > b->for_ns ? a->for_ns - b->for_ns : b->for_ns - a->for_ns;

	return a->action == b->action && !memcmp(&a->limit, &b->limit, sizeof(a->limit)) &&
	       !strcmp(a->keep_set, b->keep_set) &&
	       (a->for_ns && b->for_ns ? apart <= EXPIRY_SLACK_NS : !apart) &&
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

/* ---- errors */

size_t policy_errors_kept(const struct policy_errors *errors)
{
	return errors->count < POLICY_ERRORS_MAX ? errors->count : POLICY_ERRORS_MAX;
}

void policy_errors_add(struct policy_errors *errors, const struct policy_error *err)
{
	size_t kept = policy_errors_kept(errors), at = kept;

	errors->count++;
	for (; at; at--) {
		const struct policy_error *last = &errors->first[at - 1];

		if (last->line != err->line ? last->line < err->line : last->column <= err->column)
			break;
	}
	if (at == POLICY_ERRORS_MAX)
		return;
	if (kept == POLICY_ERRORS_MAX)
		kept--;
	memmove(&errors->first[at + 1], &errors->first[at], (kept - at) * sizeof(*err));
	errors->first[at] = *err;
}
