// SPDX-License-Identifier: GPL-2.0-only
/* Finds rules that are probably mistakes. Whether a packet can reach a rule is asked of
 * rules_decide(), of a small policy made for the question: the rule with a mark, and what may stand
 * in its way.
 */

#include "policy/lint/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/packets/decide.h"
#include "policy/field.h"
#include "policy/lint/lint_account.h"
#include "policy/lint/lint_limit.h"
#include "policy/lint/lint_range.h"
#include "policy/lint/lint_share.h"
#include "policy/packets/pset.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

#define QUESTIONS_MAX 100000 /* after so many nothing more is found */

/* The rules of one prefix. */
struct group {
	const struct rule *first;
	size_t count;
};

#define group_for_each(group, item)                                                            \
	for (const struct rule *item = (group)->first; item < (group)->first + (group)->count; \
	     item++)

#define LENGTH_LEAST 20 /* of an IP packet */

struct lint {
	const struct policy *policy;
	const struct policy_context *ctx;
	const struct policy_source *source;
	policy_warn_fn warn;
	void *arg;
	size_t warnings;
	unsigned int questions;
	struct group around[RL_NEST_MAX + 2]; /* groups whose prefixes hold the current one */
	size_t depth;
	struct policy wide; /* rules of wide prefixes and of the device that have an effect */
	int error;
};

static void lint_warn(struct lint *lint, const struct rule *rule, const char *text)
{
	if (lint->warnings++ < LINT_WARNINGS_MAX)
		lint->warn(rule, text, lint->arg);
}

static struct group group_at(const struct policy *policy, size_t index)
{
	struct group group = {.first = &policy->rules[index], .count = 1};

	while (index + group.count < policy->count &&
	       same_prefix(group.first, group.first + group.count))
		group.count++;
	return group;
}

/* ---- lines of other rules */

#define LINES_SHOWN 8

/* Ascending. */
struct lines {
	uint32_t at[RL_GROUP_MAX * (RL_NEST_MAX + 1)];
	size_t count;
};

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

static bool lines_are_elsewhere(const struct lint *lint, const struct rule *rule,
				const struct lines *lines)
{
	const char *name = policy_place(lint->source, rule->line).name;

	for (size_t i = 0; i < lines->count; i++)
		if (strcmp(policy_place(lint->source, lines->at[i]).name, name))
			return true;
	return false;
}

/* "line 2", "lines 2, 3", or with the name of each file if one is not that of `rule`. */
static void lines_print(FILE *out, const struct lint *lint, const struct rule *rule,
			const struct lines *lines)
{
	bool named = lines_are_elsewhere(lint, rule, lines);

	fprintf(out, "line%s ", lines->count > 1 ? "s" : "");
	for (size_t i = 0; i < lines->count && i < LINES_SHOWN; i++) {
		struct policy_place place = policy_place(lint->source, lines->at[i]);

		fprintf(out, "%s%" PRIu32 "%s%s", i ? ", " : "", place.line, named ? " of " : "",
			named ? place.name : "");
	}
	if (lines->count > LINES_SHOWN)
		fprintf(out, ", ...");
}

/* Warns of `rule`: BEFORE, the lines, AFTER. */
static void lint_warn_of(struct lint *lint, const struct rule *rule, const char *before,
			 const struct lines *lines, const char *after)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		fputs(before, out);
		lines_print(out, lint, rule, lines);
		fputs(after, out);
	}
	if (!out || fclose(out))
		lint->error = -ENOMEM;
	else
		lint_warn(lint, rule, text);
	free(text);
}

/* ---- questions */

/* The question: do packets of the range, for as long as for_ns, meet the marked rule at the end? */
struct way {
	struct policy rules;
	struct range range;
	uint64_t for_ns; /* 0: for ever */
};

/* Adds a rule that may stand in the way, if it does so for all addresses of the range. `as`: its
 * action in the question. */
static void way_add(struct lint *lint, struct way *way, const struct rule *rule, enum rl_action as)
{
	struct rule copy = *rule;

	if (!range_has_match(&way->range, &rule->match, lint->ctx->by_dest))
		return;
	copy.action = as;
	copy.counter_id = 0;
	if (outlasts(rule, way->for_ns))
		copy.for_ns = 0;
	if (policy_append(&way->rules, &copy))
		lint->error = -ENOMEM;
}

/* Does a packet with this lookup address reach the marked rule? The address is a member of the set
 * that the question is about, if it is about one. */
static bool is_reached(struct lint *lint, const struct policy *way, const uint8_t addr[16])
{
	struct asked asked = {.by_dest = lint->ctx->by_dest};
	struct policy found = {0};
	bool reached = false;

	memcpy(asked.addr, addr, sizeof(asked.addr));
	policy_for_each (way, rule) {
		if (!rule->set[0])
			continue;
		rule->kind = PREFIX_ADDR;
		rule->len = 128;
		memcpy(rule->addr, addr, sizeof(rule->addr));
	}
	if (rules_decide(way, &asked, &found))
		lint->error = -ENOMEM;
	policy_for_each (&found, rule)
		reached |= rule->counter_id == LINT_MARK;
	policy_clear(&found);
	return reached;
}

/* The same for all addresses of the range, with `rule` as the marked one, which has the matches of
 * `of`. An address of the range that it does not want is left out of the question. Clears the way.
 */
static bool way_ends_at(struct lint *lint, struct way *way, const struct rule *rule,
			const struct rule *of)
{
	static const uint8_t ipv4[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
	static const uint8_t ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	struct rule copy = *rule;
	bool reached;

	copy.match = of->match;
	copy.extra = of->extra;
	if (!match_names_set(&copy.match, own_flag(lint->ctx->by_dest)))
		copy.match.flags &= ~(copy.match.negated & own_flag(lint->ctx->by_dest));
	copy.counter_id = LINT_MARK;
	if (policy_append(&way->rules, &copy))
		lint->error = -ENOMEM;
	if (way->range.any)
		reached =
			is_reached(lint, &way->rules, ipv4) || is_reached(lint, &way->rules, ipv6);
	else
		reached = is_reached(lint, &way->rules, way->range.addr);
	policy_clear(&way->rules);
	return reached;
}

/* ---- a limit that hides one of a shorter prefix */

/* How a limit is hidden: nothing like it holds instead, or one that lets more pass. */
enum hiding { HIDING_MISSING, HIDING_LOOSER, HIDINGS };

/* Does the rule hold packets back as well as `hidden` would? */
static bool holds_instead(const struct lint *lint, const struct rule *rule,
			  const struct rule *hidden, enum hiding hiding)
{
	return limit_replaces(rule, hidden, lint->ctx) &&
	       (hiding == HIDING_MISSING || limit_is_as_strict(rule, hidden));
}

/* The one of two rules whose packets the other matches as well; NULL: neither. */
static const struct rule *inner_of(const struct rule *a, const struct rule *b)
{
	if (match_within(a, b))
		return a;
	return match_within(b, a) ? b : NULL;
}

/* Is there a packet of `limit` that would be held to `hidden`, at around[outer], without the rules
 * of the current prefix, and is not held to anything like it with them? */
static bool hides(struct lint *lint, const struct group *group, const struct rule *limit,
		  size_t outer, const struct rule *hidden, enum hiding hiding)
{
	struct way way = {.for_ns = limit->for_ns};
	const struct rule *common;

	if (lint->questions >= QUESTIONS_MAX)
		return false;
	common = inner_of(limit, hidden);
	if (!common || common->match.negated & own_flag(lint->ctx->by_dest))
		return false;
	lint->questions++;
	way.range = range_of(limit, &common->match, lint->ctx->by_dest);
	group_for_each (group, rule)
		if (!is_limit(rule) || holds_instead(lint, rule, hidden, hiding))
			way_add(lint, &way, rule, RL_ACTION_DENY);
	for (size_t i = outer + 1; i < lint->depth; i++)
		group_for_each (&lint->around[i], rule)
			way_add(lint, &way, rule, rule->action);
	group_for_each (&lint->around[outer], rule)
		if (!is_limit(rule))
			way_add(lint, &way, rule, rule->action);
	return way_ends_at(lint, &way, hidden, common);
}

/* The first rule of the group that hides the limit so, or NULL. */
static const struct rule *hidden_by(struct lint *lint, const struct group *group, size_t outer,
				    const struct rule *limit, enum hiding hiding)
{
	group_for_each (group, rule) {
		if (!is_limit(rule) ||
		    (hiding == HIDING_LOOSER && !limit_replaces(rule, limit, lint->ctx)))
			continue;
		if (hides(lint, group, rule, outer, limit, hiding))
			return rule;
	}
	return NULL;
}

/* Limits that the current group hides, by their lines, and the first rule that does. */
struct hidden {
	const struct rule *by;
	struct lines lines;
};

static void hidden_find(struct lint *lint, const struct group *group, size_t outer,
			const struct rule *limit, struct hidden found[HIDINGS])
{
	const struct rule *by = NULL;
	enum hiding hiding;

	if (!limits_packets(limit))
		return;
	for (hiding = 0; hiding < HIDINGS; hiding++) {
		by = hidden_by(lint, group, outer, limit, hiding);
		if (by)
			break;
	}
	if (!by)
		return;
	found[hiding].by = found[hiding].by ? found[hiding].by : by;
	lines_add(&found[hiding].lines, limit->line);
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

/* The one rule of `others` that leaves nothing to `rule`; NULL: it takes several. */
static const struct rule *killer_find(struct lint *lint, const struct group *others,
				      const struct rule *rule, bool only_any)
{
	group_for_each (others, before) {
		const struct group one = {.first = before, .count = 1};

		if (!is_alive(lint, &one, rule, only_any))
			return before;
	}
	return NULL;
}

static void lint_dead(struct lint *lint, const struct group *others, const struct rule *rule,
		      bool only_any)
{
	const struct rule *killer = killer_find(lint, others, rule, only_any);
	struct lines lines = {0};

	if (!killer) {
		lint_warn(lint, rule,
			  "other rules allow or deny every packet that matches, so this rule has "
			  "no effect: remove it");
		return;
	}
	lines_add(&lines, killer->line);
	lint_warn_of(lint, rule, "the rule on ", &lines,
		     killer->action == RL_ACTION_ALLOW
			     ? " allows every packet that matches, so this rule has no effect: "
			       "remove one of them"
			     : " denies every packet that matches, so this rule has no effect: "
			       "remove one of them");
}

/* ---- forged sources */

static void lint_forged(struct lint *lint)
{
	const struct rule *first =
		lint->ctx->leaving ? NULL : forged_find(&lint->wide, &lint->error);

	if (!first)
		return;
	if (first->limit.over == RL_OVER_CHALLENGE || first->limit.over == RL_OVER_TRUNCATE)
		lint_warn(lint, policy_find(lint->policy, first),
			  "limits each source by itself, so a flood of forged sources is never "
			  "answered: write per rule");
	else
		lint_warn(lint, policy_find(lint->policy, first),
			  "limits each source by itself, so a flood of forged sources passes: add "
			  "for example \"rule device new-source not established limit "
			  "2000/second\"");
}

/* ---- sets */

static void lint_set(const struct policy_set *set, void *arg)
{
	const struct rule place = {.line = set->line};
	char text[RL_SET_NAME_MAX * 2 + 96];

	snprintf(
		text, sizeof(text),
		"no rule names the set %s, so it has no effect: add for example \"rule @%s deny\", "
		"or remove it",
		set->name, set->name);
	lint_warn(arg, &place, text);
}

/* ---- known sources */

static void lint_unknown(struct lint *lint, const struct rule *rule)
{
	enum unknown_rival kind;
	const struct rule *wider = unknown_rival_find(rule, lint->policy, &kind);
	struct lines lines = {0};

	if (!wider)
		return;
	lines_add(&lines, wider->line);
	if (kind == UNKNOWN_PASS)
		lint_warn_of(
			lint, rule, "by other packets sources become known at the rate of ", &lines,
			", which is higher, and this limit does not hold known sources: leave "
			"out of that rule, with not, what this one matches, and give it a lower "
			"rate");
	else
		lint_warn_of(lint, rule, "all its packets are held to the lower limit on ", &lines,
			     " too, so this one refuses nothing: leave out of that rule, with not, "
			     "what this one matches, or remove this one");
}

/* ---- conditions that hold for every packet */

static void lint_full(struct lint *lint, const struct rule *rule)
{
	char text[96];

	fields_for_each (flag, rule->match.flags & RL_MATCH_NUMBERS & ~rule->match.negated) {
		const struct field *field = &all_fields[field_of(flag)];
		struct rl_numbers numbers = rule->extra->number[field->number];
		uint32_t least = flag == RL_MATCH_LENGTH ? LENGTH_LEAST : 0;

		if (field->kind != FIELD_RANGE || numbers.first > least ||
		    numbers.last < field->max)
			continue;
		snprintf(text, sizeof(text),
			 "its %s leaves out no packet: remove it, or write a shorter range",
			 field->word);
		lint_warn(lint, rule, text);
	}
}

/* ---- a limit by itself */

static void lint_limit(struct lint *lint, const struct rule *rule)
{
	char loss[BURST_LOSS_MAX], share[SHARE_LOSS_MAX];

	if (key_lacks_ports(rule))
		lint_warn(lint, rule, KEY_LACKS_PORTS);
	if (!lint->ctx->leaving && is_hidden_in_fragments(rule, lint->policy))
		lint_warn(lint, rule, HIDDEN_IN_FRAGMENTS);
	if (burst_loss(rule, lint->ctx, loss))
		lint_warn(lint, rule, loss);
	if (share_is_slow(rule, lint->ctx, share))
		lint_warn(lint, rule, share);
	if (share_is_unused(rule, share))
		lint_warn(lint, rule, share);
}

static void lint_account(const struct rule *rule, void *arg)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "account %u has another rate or burst in a rule before, and one bucket for both: "
		 "write the same limit in all of its rules",
		 rule->limit.account);
	lint_warn(arg, rule, text);
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
		lint_unknown(lint, rule);
	}
	lint_hidden(lint, group);
	if (!device && group->first->kind != PREFIX_SET &&
	    lint->depth < sizeof(lint->around) / sizeof(lint->around[0]))
		lint->around[lint->depth++] = *group;
}

int policy_lint(const struct policy *policy, const struct policy_context *ctx,
		const struct policy_source *source, policy_warn_fn warn, void *arg)
{
	struct lint lint = {
		.policy = policy, .ctx = ctx, .source = source, .warn = warn, .arg = arg};
	bool only_any = true;

	policy_for_each (policy, rule)
		only_any &= rule->kind < PREFIX_SET;
	for (size_t i = 0; i < policy->count && lint.warnings <= LINT_WARNINGS_MAX;) {
		struct group group = group_at(policy, i);

		lint_group(&lint, &group, only_any);
		i += group.count;
	}
	if (accounts_differ(policy, lint_account, &lint))
		lint.error = -ENOMEM;
	lint_forged(&lint);
	policy_sets_unused(policy, lint_set, &lint);
	policy_clear(&lint.wide);
	if (lint.warnings > LINT_WARNINGS_MAX)
		warn(NULL, "there are more warnings like these", arg);
	return lint.error;
}

void policy_sum(const struct policy *policy, struct policy_sum *out)
{
	*out = (struct policy_sum){.rules = policy->count};
	for (size_t i = 0; i < policy->count; i += group_at(policy, i).count)
		out->prefixes++;
	policy_for_each (policy, rule)
		out->shadow += is_shadow(rule);
}
