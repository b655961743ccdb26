// SPDX-License-Identifier: GPL-2.0-only
/* Warnings, and questions: whether a packet can reach a rule is asked of rules_decide(), of a small
 * policy made for the question: the rule with a mark, and what may stand in its way.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/lint/lint_parts.h"
#include "policy/packets/decide.h"

#define LINES_SHOWN 8

/* ---- warnings */

void lint_warn(struct lint *lint, const struct rule *rule, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	if (lint->warnings++ >= lint->most)
		return;
	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		lint->error = -ENOMEM;
		return;
	}
	lint->warn(rule, text, lint->arg);
	free(text);
}

/* "line 2", "lines 2, 3", or with the name of each file if one is not that of `rule`. */
static void lines_print(FILE *out, const struct lint *lint, const struct rule *rule,
			const struct lines *lines)
{
	const char *name = policy_place(lint->source, rule->line).name;
	bool named = false;

	for (size_t i = 0; i < lines->count; i++)
		named |= strcmp(policy_place(lint->source, lines->at[i]).name, name) != 0;
	fprintf(out, "line%s ", lines->count > 1 ? "s" : "");
	for (size_t i = 0; i < lines->count && i < LINES_SHOWN; i++) {
		struct policy_place place = policy_place(lint->source, lines->at[i]);

		fprintf(out, "%s%" PRIu32 "%s%s", i ? ", " : "", place.line, named ? " of " : "",
			named ? place.name : "");
	}
	if (lines->count > LINES_SHOWN)
		fprintf(out, ", ...");
}

void lint_warn_of(struct lint *lint, const struct rule *rule, const char *before,
		  const struct lines *lines, const char *after)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out)
		lines_print(out, lint, rule, lines);
	if (!out || fclose(out))
		lint->error = -ENOMEM;
	else
		lint_warn(lint, rule, "%s%s%s", before, text, after);
	free(text);
}

/* ---- ranges */

/* The address of the match, wanted or not; false: there is none, or it is a set. */
static bool own_match(const struct match *match, bool by_dest, struct range *out)
{
	if (!(match->flags & own_flag(by_dest)) || match_names_set(match, own_flag(by_dest)))
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

struct range range_of(const struct rule *prefix, const struct match *match, bool by_dest)
{
	struct range range = {.any = prefix->kind != PREFIX_ADDR, .len = prefix->len}, own;

	memcpy(range.addr, prefix->addr, sizeof(range.addr));
	if (own_match(match, by_dest, &own) && match_wants(match, own_flag(by_dest)) &&
	    range_contains(&range, &own))
		range = own;
	return range;
}

/* Has every address of the range the match, as far as it is about lookup addresses? True for a set:
 * rules_decide() takes each address for one that may be in it. */
static bool range_has_match(const struct range *range, const struct match *match, bool by_dest)
{
	struct range own;

	if (!own_match(match, by_dest, &own))
		return true;
	if (match_wants(match, own_flag(by_dest)))
		return range_contains(&own, range);
	return !range_contains(&own, range) && !range_contains(range, &own);
}

/* ---- questions */

const uint8_t lint_addresses[2][16] = {
	{0x20, 0x01, 0x0d, 0xb8, [15] = 1},
	{[10] = 0xff, [11] = 0xff, 192, 0, 2, 1},
};

void way_add(struct lint *lint, struct way *way, const struct rule *rule, enum rl_action as)
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

bool mark_is_reached(struct policy *question, bool by_dest, const uint8_t addr[16], int *error)
{
	struct asked asked = {.by_dest = by_dest};
	struct policy found = {0};
	bool reached = false;

	memcpy(asked.addr, addr, sizeof(asked.addr));
	policy_for_each (question, rule) {
		if (!rule->set[0])
			continue;
		rule->kind = PREFIX_ADDR;
		rule->len = 128;
		memcpy(rule->addr, addr, sizeof(rule->addr));
	}
	if (rules_decide(question, &asked, &found))
		*error = -ENOMEM;
	policy_for_each (&found, rule)
		reached |= rule->counter_id == LINT_MARK;
	policy_clear(&found);
	return reached;
}

bool way_ends_at(struct lint *lint, struct way *way, const struct rule *rule, const struct rule *of)
{
	bool by_dest = lint->ctx->by_dest, any = way->range.any, reached = false;
	struct rule copy = *rule;

	copy.match = of->match;
	copy.extra = of->extra;
	if (!match_names_set(&copy.match, own_flag(by_dest)))
		copy.match.flags &= ~(copy.match.negated & own_flag(by_dest));
	copy.counter_id = LINT_MARK;
	if (policy_append(&way->rules, &copy))
		lint->error = -ENOMEM;
	for (int i = any ? 1 : 0; !reached && i >= 0; i--)
		reached = mark_is_reached(&way->rules, by_dest,
					  any ? lint_addresses[i] : way->range.addr, &lint->error);
	policy_clear(&way->rules);
	return reached;
}
