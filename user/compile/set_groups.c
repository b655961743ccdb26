// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "policy/sets/set.h"

/* ---- numbers */

static int number_of(const struct rl_set *sets, const char *name)
{
	for (int i = 0; sets && i < RL_SETS_MAX; i++)
		if (!strcmp(sets[i].name, name))
			return i;
	return -ENOENT;
}

void set_compile(const struct policy_set *set, struct rl_set_words *out)
{
	*out = (struct rl_set_words){
		.every_ns = set->every_ns,
		.timeout_ns = set->timeout_ns,
		.max = set->max,
		.source = set->source,
		.shortest = {set->shortest[0], set->shortest[1]},
	};
	memcpy(out->name, set->name, sizeof(out->name));
	memcpy(out->path, set->path, sizeof(out->path));
	memcpy(out->pick, set->pick, sizeof(out->pick));
	memcpy(out->comment, set->comment, sizeof(set->comment));
}

static void refuse_missing(const struct rule *rule, uint32_t column, const char *name, void *arg)
{
	(void)column;
	build_refuse(arg, rule, -ENOENT,
		     "unknown set \"%s\": apply a policy with a line \"set %s\" first", name, name);
}

int sets_inherit(struct build *b, struct policy *next)
{
	const struct rl_set *sets = b->ctx->sets;
	uint64_t taken = 0;

	if (policy_sets_missing(next, next, refuse_missing, b))
		return b->error;
	if (!next->set_count)
		return 0;
	b->out->header.uses |= RL_USE_SETS;
	b->out->groups = calloc(1, sizeof(*b->out->groups));
	if (!b->out->groups)
		return -ENOMEM;
	/* Those that a set has in the kernel are taken, whether the policy has it or not. */
	for (int i = 0; sets && i < RL_SETS_MAX; i++)
		if (sets[i].name[0])
			taken |= 1ull << i;
	for (size_t i = 0; i < next->set_count; i++) {
		int number = number_of(sets, next->sets[i].name);

		if (number < 0 && !~taken)
			return build_refuse(
				b, NULL, -E2BIG,
				"too many sets (at most %u): join lists into fewer sets; "
				"while policies change, the sets of both count",
				RL_SETS_MAX);
		if (number < 0)
			number = __builtin_ctzll(~taken);
		taken |= 1ull << number;
		b->out->groups->defined |= 1ull << number;
		next->sets[i].id = number;
		set_compile(&next->sets[i], &b->out->groups->words[number]);
	}
	return 0;
}

/* The parser has refused names without a set. */
static uint32_t set_number(const struct policy *policy, const char *name)
{
	const struct policy_set *set = policy_set_find(policy, name);

	return set ? set->id : 0;
}

/* ---- groups */

void sets_emit(struct build *b, const struct rule *rule, struct rl_limit *limit,
	       struct condition_bits *out)
{
	struct rl_set_groups *groups = b->out->groups;
	struct rule_sets sets = rule_sets(rule);
	uint32_t kept;

	if (sets.name[SET_SRC]) {
		out->src = set_number(b->next, sets.name[SET_SRC]);
		groups->src |= 1ull << out->src;
	}
	if (sets.name[SET_DST]) {
		out->dst = set_number(b->next, sets.name[SET_DST]);
		groups->dst |= 1ull << out->dst;
	}
	if (sets.name[SET_KEEP]) {
		kept = set_number(b->next, sets.name[SET_KEEP]);
		limit->keep_for = RL_KEEP_SET + kept;
		*(b->ctx->text->by_dest ? &groups->dst : &groups->src) |= 1ull << kept;
	}
}

struct rl_range *set_group(struct build *b, const struct rule *rule)
{
	uint32_t number = set_number(b->next, rule->set);

	b->out->groups->prefixes |= 1ull << number;
	if (__builtin_popcountll(b->out->groups->prefixes) > RL_SET_PREFIX_MAX)
		build_refuse(
			b, rule, -E2BIG,
			"too many sets have rules of their own (at most %u): write src @NAME as a "
			"match of other rules",
			RL_SET_PREFIX_MAX);
	return &b->out->groups->range[number];
}

/* ---- limits that meet */

/* Each prefix with the limits of all sets after its own, in `all`; the first that has too many is
 * enough. */
static int prefixes_check(struct build *b, const struct policy *policy, const struct rule **all,
			  const struct rule **sets, size_t set_count)
{
	int ret = 0;

	for (size_t i = 0, count; !ret && !b->errors->count && i < policy->count; i += count) {
		const struct rule *rule = &policy->rules[i];
		size_t used = 0;

		count = policy_prefix_count(policy, i);
		if (rule->kind != PREFIX_ADDR)
			continue;
		for (const struct rule *own = rule; own < rule + count; own++)
			if (own->action == RL_ACTION_LIMIT)
				all[used++] = own;
		if (!used)
			continue;
		memcpy(&all[used], sets, set_count * sizeof(const struct rule *));
		ret = limits_check(b, all, used + set_count);
	}
	return ret;
}

int sets_check(struct build *b, const struct policy *policy)
{
	const struct rule **sets =
		(const struct rule **)calloc(policy->count + 1, sizeof(const struct rule *));
	const struct rule **all =
		(const struct rule **)calloc(2 * policy->count + 1, sizeof(const struct rule *));
	size_t count = 0;
	int ret = sets && all ? 0 : -ENOMEM;

	policy_for_each (policy, rule)
		if (!ret && rule->kind == PREFIX_SET && rule->action == RL_ACTION_LIMIT)
			sets[count++] = rule;
	/* A set that has too many by itself is not reported again. */
	if (count && !ret && !b->errors->count)
		ret = limits_check(b, sets, count);
	if (count && !ret && !b->errors->count)
		ret = prefixes_check(b, policy, all, sets, count);
	free(sets);
	free(all);
	return ret == -ENOMEM ? ret : 0;
}
