// SPDX-License-Identifier: GPL-2.0-only
/* Finds rules that are probably mistakes. Whether a packet can reach a rule is asked of
 * rules_decide(), of a small policy made for the question: the rule with a mark, and what may stand
 * in its way.
 */

#include "lint.h"

#include <errno.h>
#include <string.h>

#include "decide.h"
#include "overlap.h"
#include "policy.h"
#include "units.h"

#define MARK 1 /* counter_id of the rule that is asked about; 0 in all others */

/* The rules of one prefix. */
struct group {
	const struct rule *first;
	size_t count;
};

#define group_for_each(group, item)                                                            \
	for (const struct rule *item = (group)->first; item < (group)->first + (group)->count; \
	     item++)

struct lint {
	const struct policy *policy;
	const struct policy_context *ctx;
	policy_warn_fn warn;
	void *arg;
	size_t warnings;
	struct group around[RL_NEST_MAX + 2]; /* groups whose prefixes hold the current one */
	size_t depth;
	int error;
};

static void lint_warn(struct lint *lint, const struct rule *rule, const char *text)
{
	if (lint->warnings++ < LINT_WARNINGS_MAX)
		lint->warn(rule, text, lint->arg);
}

static bool is_limit(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT;
}

static bool is_shadow(const struct rule *rule)
{
	return is_limit(rule) &&
	       (rule->limit.over == RL_OVER_SHADOW || rule->limit.over == RL_OVER_MARK);
}

/* Does the limit count several sources by one key? */
static bool key_is_shared(const struct rule *rule)
{
	return rule->limit.key == RL_KEY_RULE || rule->limit.key == RL_KEY_DEST;
}

static struct group group_at(const struct policy *policy, size_t index)
{
	struct group group = {.first = &policy->rules[index], .count = 1};

	while (index + group.count < policy->count &&
	       same_prefix(group.first, group.first + group.count))
		group.count++;
	return group;
}

/* ---- ranges of lookup addresses */

struct range {
	bool any; /* every address; else the prefix: */
	uint8_t addr[16], len;
};

/* The match of the lookup address; false: there is none. */
static bool own_match(const struct lint *lint, const struct rl_match *match, struct range *out)
{
	bool by_dest = lint->ctx->by_dest;

	if (!(match->flags & (by_dest ? RL_MATCH_DST : RL_MATCH_SRC)))
		return false;
	*out = (struct range){.len = by_dest ? match->dst_len : match->src_len};
	memcpy(out->addr, by_dest ? match->dst : match->src, sizeof(out->addr));
	return true;
}

static bool range_contains(const struct range *outer, const struct range *inner)
{
	return outer->any || (!inner->any && outer->len <= inner->len &&
			      prefix_contains(outer->addr, outer->len, inner->addr));
}

/* The lookup addresses of the packets that have the match and the prefix. */
static struct range range_of(const struct lint *lint, const struct rule *prefix,
			     const struct rl_match *match)
{
	struct range range = {.any = prefix->kind != PREFIX_ADDR, .len = prefix->len}, own;

	memcpy(range.addr, prefix->addr, sizeof(range.addr));
	if (own_match(lint, match, &own) && range_contains(&range, &own))
		range = own;
	return range;
}

/* ---- questions */

/* Adds a rule that may stand in the way, if it does so for all addresses of the range. `as`: its
 * action in the question. */
static void way_add(struct lint *lint, struct policy *way, const struct rule *rule,
		    enum rl_action as, const struct range *range)
{
	struct rule copy = *rule;
	struct range own;

	if (own_match(lint, &rule->match, &own) && !range_contains(&own, range))
		return;
	copy.action = as;
	copy.counter_id = 0;
	if (policy_append(way, &copy))
		lint->error = -ENOMEM;
}

/* Adds the rule in question. */
static void way_end(struct lint *lint, struct policy *way, const struct rule *rule,
		    const struct rl_match *match)
{
	struct rule copy = *rule;

	copy.match = *match;
	copy.counter_id = MARK;
	if (policy_append(way, &copy))
		lint->error = -ENOMEM;
}

/* Does a packet with this lookup address reach the marked rule? */
static bool is_reached(struct lint *lint, const struct policy *way, const uint8_t addr[16])
{
	struct asked asked = {.by_dest = lint->ctx->by_dest};
	struct policy found = {0};
	bool reached = false;

	memcpy(asked.addr, addr, sizeof(asked.addr));
	if (rules_decide(way, &asked, &found))
		lint->error = -ENOMEM;
	policy_for_each (&found, rule)
		reached |= rule->counter_id == MARK;
	policy_clear(&found);
	return reached;
}

/* The same for all addresses of the range. */
static bool is_reached_in(struct lint *lint, const struct policy *way, const struct range *range)
{
	static const uint8_t ipv4[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
	static const uint8_t ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

	if (!range->any)
		return is_reached(lint, way, range->addr);
	return is_reached(lint, way, ipv4) || is_reached(lint, way, ipv6);
}

/* ---- a limit that hides one of a shorter prefix */

static bool is_one_address(const struct rule *rule)
{
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return rule->kind == PREFIX_ADDR && rule->len >= (ipv4 ? 128 : 64);
}

/* Does a limit of a longer prefix take the place of `hidden`? It drops, and counts the same unit,
 * by the same key or all its packets together. */
static bool takes_the_place(const struct lint *lint, const struct rule *limit,
			    const struct rule *hidden)
{
	enum rl_key_kind key = limit->limit.key;

	if (is_shadow(limit) ||
	    (limit->limit.unit == RL_PACKETS) != (hidden->limit.unit == RL_PACKETS))
		return false;
	return key == hidden->limit.key || key == RL_KEY_RULE ||
	       (is_one_address(limit) && key == rule_default_key(limit, lint->ctx));
}

/* Is there a packet of `limit` that would be held to `hidden`, at around[outer], without the rules
 * of the current prefix, and is not held to anything like it with them? */
static bool hides(struct lint *lint, const struct group *group, const struct rule *limit,
		  size_t outer, const struct rule *hidden)
{
	struct policy way = {0};
	struct rl_match common;
	struct range range;
	bool reached;

	if (!match_common(&limit->match, &hidden->match, &common) ||
	    (memcmp(&common, &limit->match, sizeof(common)) &&
	     memcmp(&common, &hidden->match, sizeof(common))))
		return false;
	range = range_of(lint, limit, &common);
	group_for_each (group, rule)
		if (!is_limit(rule) || takes_the_place(lint, rule, hidden))
			way_add(lint, &way, rule, RL_ACTION_DENY, &range);
	for (size_t i = outer + 1; i < lint->depth; i++)
		group_for_each (&lint->around[i], rule)
			way_add(lint, &way, rule, rule->action, &range);
	group_for_each (&lint->around[outer], rule)
		if (!is_limit(rule))
			way_add(lint, &way, rule, rule->action, &range);
	way_end(lint, &way, hidden, &common);
	reached = is_reached_in(lint, &way, &range);
	policy_clear(&way);
	return reached;
}

/* Limits that the current group hides, by their lines, and the first rule that does. */
struct hidden {
	const struct rule *by;
	uint32_t lines[RL_GROUP_MAX * (RL_NEST_MAX + 1)];
	size_t count;
};

static void hidden_find(struct lint *lint, const struct group *group, size_t outer,
			const struct rule *limit, struct hidden *out)
{
	const struct rule *by = NULL;
	size_t at = out->count;

	if (!is_limit(limit) || is_shadow(limit))
		return;
	group_for_each (group, rule)
		if (!by && is_limit(rule) && hides(lint, group, rule, outer, limit))
			by = rule;
	if (!by || out->count == sizeof(out->lines) / sizeof(out->lines[0]))
		return;
	out->by = out->by ? out->by : by;
	for (; at && out->lines[at - 1] > limit->line; at--)
		out->lines[at] = out->lines[at - 1];
	out->lines[at] = limit->line;
	out->count++;
}

#define LINES_SHOWN 8

static void lint_hidden(struct lint *lint, const struct group *group)
{
	struct hidden hidden = {0};
	char text[320], lines[128];
	size_t used = 0;

	for (size_t i = 0; i < lint->depth; i++)
		group_for_each (&lint->around[i], limit)
			hidden_find(lint, group, i, limit, &hidden);
	if (!hidden.count)
		return;
	for (size_t i = 0; i < hidden.count && i < LINES_SHOWN; i++)
		used += snprintf(lines + used, sizeof(lines) - used, "%s%u", i ? ", " : "",
				 hidden.lines[i]);
	snprintf(
		text, sizeof(text),
		"packets of this rule are not held to the limit%s on line%s %s%s, as its prefix is "
		"longer: write such a limit for this prefix too, if it is to hold",
		hidden.count > 1 ? "s" : "", hidden.count > 1 ? "s" : "", lines,
		hidden.count > LINES_SHOWN ? ", ..." : "");
	lint_warn(lint, hidden.by, text);
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
	struct range range = range_of(lint, rule, &rule->match);
	struct policy way = {0};
	bool alive;

	group_for_each (others, before)
		if (is_before(before, rule, only_any))
			way_add(lint, &way, before, before->action, &range);
	if (!way.count)
		return true;
	way_end(lint, &way, rule, &rule->match);
	alive = is_reached_in(lint, &way, &range);
	policy_clear(&way);
	return alive;
}

static void lint_dead(struct lint *lint, const struct group *others, const struct rule *rule,
		      bool only_any)
{
	char text[256] =
		"earlier rules allow or deny every packet that matches, so this rule has no "
		"effect: remove it";

	if (is_alive(lint, others, rule, only_any))
		return;
	group_for_each (others, before) {
		const struct group one = {.first = before, .count = 1};

		if (is_alive(lint, &one, rule, only_any))
			continue;
		snprintf(text, sizeof(text),
			 "the rule on line %u %s every packet that matches, so this rule has no "
			 "effect: remove one of them",
			 before->line, before->action == RL_ACTION_ALLOW ? "allows" : "denies");
		break;
	}
	lint_warn(lint, rule, text);
}

/* ---- forged sources */

static bool is_wide(const struct rule *rule)
{
	return rule->kind == PREFIX_ANY ||
	       (rule->kind == PREFIX_ADDR &&
		rule->len == (prefix_is_ipv4(rule->addr, rule->len) ? RL_MAPPED_BITS : 0));
}

/* Does the limit hold back a flood of sources that send a packet each? */
static bool holds_forged(const struct rule *rule)
{
	if (!is_limit(rule) || is_shadow(rule))
		return false;
	if (rule->match.flags & RL_MATCH_NEW_SOURCE)
		return key_is_shared(rule);
	return key_is_shared(rule) &&
	       (rule->kind == PREFIX_DEVICE || (is_wide(rule) && !rule->match.flags));
}

static void lint_forged(struct lint *lint)
{
	const struct rule *first = NULL;

	if (lint->ctx->leaving)
		return;
	policy_for_each (lint->policy, rule) {
		if (holds_forged(rule))
			return;
		if (is_limit(rule) && !is_shadow(rule) && is_wide(rule) && !key_is_shared(rule) &&
		    (!first || rule->line < first->line))
			first = rule;
	}
	if (first)
		lint_warn(lint, first,
			  "limits each source by itself, so a flood of forged sources passes: add "
			  "for example \"rule device new-source limit 2000/second\"");
}

/* ---- all of it */

/* Leaves in lint->around the groups whose prefixes hold this one. */
static void around_close(struct lint *lint, const struct rule *prefix)
{
	while (lint->depth) {
		const struct rule *outer = lint->around[lint->depth - 1].first;

		if (prefix->kind == PREFIX_ADDR &&
		    (outer->kind == PREFIX_ANY ||
		     (outer->len <= prefix->len &&
		      prefix_contains(outer->addr, outer->len, prefix->addr))))
			return;
		lint->depth--;
	}
}

static void lint_group(struct lint *lint, const struct group *group, bool only_any)
{
	const struct group all = {.first = lint->policy->rules, .count = lint->policy->count};
	bool device = group->first->kind == PREFIX_DEVICE;

	around_close(lint, group->first);
	group_for_each (group, rule)
		lint_dead(lint, device && only_any ? &all : group, rule, only_any);
	lint_hidden(lint, group);
	if (!device && lint->depth < sizeof(lint->around) / sizeof(lint->around[0]))
		lint->around[lint->depth++] = *group;
}

int policy_lint(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		void *arg)
{
	struct lint lint = {.policy = policy, .ctx = ctx, .warn = warn, .arg = arg};
	bool only_any = true;

	policy_for_each (policy, rule)
		only_any &= rule->kind != PREFIX_ADDR;
	for (size_t i = 0; i < policy->count && lint.warnings <= LINT_WARNINGS_MAX;) {
		struct group group = group_at(policy, i);

		lint_group(&lint, &group, only_any);
		i += group.count;
	}
	lint_forged(&lint);
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
