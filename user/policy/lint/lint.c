// SPDX-License-Identifier: GPL-2.0-only
/* Finds rules that are probably mistakes. */

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/field.h"
#include "policy/lint/lint.h"
#include "policy/lint/lint_parts.h"
#include "policy/packets/pset.h"
#include "policy/sets/set.h"

#define QUESTIONS_MAX 100000 /* after so many nothing more is found */
#define LENGTH_LEAST  20     /* of an IP packet */

/* ---- a limit that hides one of a shorter prefix */

/* How a limit is hidden: nothing like it holds instead, or one that lets more pass. */
enum hiding { HIDING_MISSING, HIDING_LOOSER, HIDINGS };

/* Is there a packet of `limit` that would be held to `hidden`, at around[outer], without the rules
 * of the current prefix, and is not held to anything like it with them? */
static bool hides(struct lint *lint, const struct group *group, const struct rule *limit,
		  size_t outer, const struct rule *hidden, enum hiding hiding)
{
	struct way way = {.for_ns = limit->for_ns};
	const struct rule *common; /* the one whose packets the other matches as well */

	if (lint->questions >= QUESTIONS_MAX)
		return false;
	common = match_within(limit, hidden) ? limit : match_within(hidden, limit) ? hidden : NULL;
	if (!common || common->match.negated & own_flag(lint->ctx->by_dest))
		return false;
	lint->questions++;
	way.range = range_of(limit, &common->match, lint->ctx->by_dest);
	group_for_each (group, rule)
		if (!is_limit(rule) ||
		    (limit_replaces(rule, hidden, lint->ctx) &&
		     (hiding == HIDING_MISSING || limit_is_as_strict(rule, hidden))))
			way_add(lint, &way, rule, RL_ACTION_DENY);
	for (size_t i = outer + 1; i < lint->depth; i++)
		group_for_each (&lint->around[i], rule)
			way_add(lint, &way, rule, rule->action);
	group_for_each (&lint->around[outer], rule)
		if (!is_limit(rule))
			way_add(lint, &way, rule, rule->action);
	return way_ends_at(lint, &way, hidden, common);
}

static void lines_add(struct lines *lines, uint32_t line)
{
	size_t at = lines->count;

	if (at == sizeof(lines->at) / sizeof(lines->at[0]))
		return;
	for (; at && lines->at[at - 1] > line; at--)
		lines->at[at] = lines->at[at - 1];
	lines->at[at] = line;
	lines->count++;
}

/* Limits that the current group hides, by their lines, and the first rule that does. */
struct hidden {
	const struct rule *by;
	struct lines lines;
};

static void hidden_find(struct lint *lint, const struct group *group, size_t outer,
			const struct rule *limit, struct hidden found[HIDINGS])
{
	if (!limits_packets(limit))
		return;
	for (enum hiding hiding = 0; hiding < HIDINGS; hiding++)
		group_for_each (group, rule) {
			if (!is_limit(rule) ||
			    (hiding == HIDING_LOOSER && !limit_replaces(rule, limit, lint->ctx)) ||
			    !hides(lint, group, rule, outer, limit, hiding))
				continue;
			found[hiding].by = found[hiding].by ? found[hiding].by : rule;
			lines_add(&found[hiding].lines, limit->line);
			return;
		}
}

static void lint_hidden(struct lint *lint, const struct group *group)
{
	struct hidden found[HIDINGS] = {0};
	const struct hidden *missing = &found[HIDING_MISSING], *looser = &found[HIDING_LOOSER];

	for (size_t i = 0; i < lint->depth; i++)
		group_for_each (&lint->around[i], limit)
			hidden_find(lint, group, i, limit, found);
	if (missing->by)
		lint_warn_of(lint, missing->by,
			     missing->lines.count > 1
				     ? "packets of this rule are not held to the limits on "
				     : "packets of this rule are not held to the limit on ",
			     &missing->lines,
			     ", as its prefix is longer: write such a limit for this prefix too, "
			     "if it is to hold");
	if (looser->by && looser->lines.count > 1)
		lint_warn_of(lint, looser->by,
			     "packets of this rule are held to its limit instead of those on ",
			     &looser->lines, ", not to all of them: leave it if that is intended");
	else if (looser->by)
		lint_warn_of(lint, looser->by,
			     "packets of this rule are held to its limit instead of the one on ",
			     &looser->lines, ", not to both: leave it if that is intended");
}

/* ---- a rule that decides on no packet */

/* Rules that `rule` never sees the packets of: of its own prefix, and for the device, if no other
 * prefix is in the policy, of any. */
static bool is_before(const struct rule *before, const struct rule *rule, bool only_any)
{
	if (is_limit(before))
		return false;
	if (before->kind == PREFIX_ANY && rule->kind == PREFIX_DEVICE)
		return only_any;
	return same_prefix(before, rule) && before->action < rule->action;
}

/* Does a packet reach the rule past those of `others` that come before it? */
static bool is_alive(struct lint *lint, const struct group *others, const struct rule *rule,
		     bool only_any)
{
	struct way way = {.range = range_of(rule, &rule->match, lint->ctx->by_dest)};

	if (lint->questions++ >= QUESTIONS_MAX)
		return true;
	group_for_each (others, before)
		if (is_before(before, rule, only_any) && !match_differs(before, rule))
			way_add(lint, &way, before, before->action);
	return !way.rules.count || way_ends_at(lint, &way, rule, rule);
}

static void lint_dead(struct lint *lint, const struct group *others, const struct rule *rule,
		      bool only_any)
{
	const struct rule *killer =
		NULL; /* the one rule that leaves nothing; NULL: it takes several */

	group_for_each (others, before) {
		const struct group one = {.first = before, .count = 1};

		if (!killer && !is_alive(lint, &one, rule, only_any))
			killer = before;
	}
	if (!killer) {
		lint_warn(lint, rule,
			  "other rules allow or deny every packet that matches, so this rule has "
			  "no effect: remove it");
		return;
	}
	lint_warn_of(lint, rule, "the rule on ", &(struct lines){{killer->line}, 1},
		     killer->action == RL_ACTION_ALLOW
			     ? " allows every packet that matches, so this rule has no effect: "
			       "remove one of them"
			     : " denies every packet that matches, so this rule has no effect: "
			       "remove one of them");
}

/* ---- sets */

static void lint_set(struct lint *lint, const struct policy_set *set)
{
	const struct rule place = {.line = set->line};

	if (set_is_named(lint->policy, set->name))
		return;
	lint_warn(lint, &place,
		  "no rule names the set %s, so it has no effect: add for example \"rule @%s "
		  "deny\", or remove it",
		  set->name, set->name);
}

/* ---- conditions that hold for every packet */

static void lint_full(struct lint *lint, const struct rule *rule)
{
	fields_for_each (flag, rule->match.flags & RL_MATCH_NUMBERS & ~rule->match.negated) {
		const struct field *field = &all_fields[field_of(flag)];
		struct rl_numbers numbers = rule->extra->number[field->number];
		uint32_t least = flag == RL_MATCH_LENGTH ? LENGTH_LEAST : 0;

		if (field->kind != FIELD_RANGE || numbers.first > least ||
		    numbers.last < field->max)
			continue;
		lint_warn(lint, rule,
			  "its %s leaves out no packet: remove it, or write a shorter range",
			  field->word);
	}
}

/* ---- all of it */

/* Whether a prefix holds another: any holds them all, and who is in a set is not known. */
static bool prefix_holds(const struct rule *outer, const struct rule *prefix)
{
	if (prefix->kind < PREFIX_SET)
		return false;
	return outer->kind == PREFIX_ANY ||
	       (outer->kind == PREFIX_ADDR && prefix->kind == PREFIX_ADDR &&
		outer->len <= prefix->len &&
		prefix_contains(outer->addr, outer->len, prefix->addr));
}

static void lint_group(struct lint *lint, const struct group *group, bool only_any)
{
	const struct group all = {.first = lint->policy->rules, .count = lint->policy->count};
	bool device = group->first->kind == PREFIX_DEVICE;
	const struct group *others = device && only_any ? &all : group;

	/* Leaves in lint->around the groups whose prefixes hold this one. */
	while (lint->depth && !prefix_holds(lint->around[lint->depth - 1].first, group->first))
		lint->depth--;
	group_for_each (group, rule) {
		lint_full(lint, rule);
		if (!is_alive(lint, others, rule, only_any))
			lint_dead(lint, others, rule, only_any);
		else if ((device || is_wide(rule)) && policy_append(&lint->wide, rule))
			lint->error = -ENOMEM;
		lint_limit(lint, rule);
	}
	lint_hidden(lint, group);
	if (!device && group->first->kind != PREFIX_SET &&
	    lint->depth < sizeof(lint->around) / sizeof(lint->around[0]))
		lint->around[lint->depth++] = *group;
}

int policy_lint(const struct policy *policy, const struct policy_context *ctx,
		const struct policy_source *source, policy_warn_fn warn, void *arg)
{
	struct lint lint = {.policy = policy,
			    .ctx = ctx,
			    .source = source,
			    .warn = warn,
			    .arg = arg,
			    .most = LINT_WARNINGS_MAX};
	bool only_any = true;

	for (size_t i = 0; i < policy->count; i++)
		only_any &= policy->rules[i].kind < PREFIX_SET;
	for (size_t i = 0; i < policy->count && lint.warnings <= LINT_WARNINGS_MAX;) {
		struct group group = {policy->rules + i, policy_prefix_count(policy, i)};

		lint_group(&lint, &group, only_any);
		i += group.count;
	}
	lint_accounts(&lint);
	lint_forged(&lint);
	for (size_t i = 0; i < policy->set_count; i++)
		lint_set(&lint, &policy->sets[i]);
	policy_clear(&lint.wide);
	if (lint.warnings > LINT_WARNINGS_MAX)
		warn(NULL, "there are more warnings like these", arg);
	return lint.error;
}

void policy_sum(const struct policy *policy, struct policy_sum *out)
{
	*out = (struct policy_sum){.rules = policy->count};
	for (size_t i = 0; i < policy->count; i += policy_prefix_count(policy, i))
		out->prefixes++;
	policy_for_each (policy, rule)
		out->shadow += is_shadow(rule);
}
