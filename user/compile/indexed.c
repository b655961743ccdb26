// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/index.h"
#include "compile/meeting.h"
#include "policy/policy.h"

/* The words of a match: "udp dport 53". */
static void packet_print(char out[RULE_TEXT_MAX], const struct build *b, const struct match *match)
{
	struct rule rule = {.kind = PREFIX_ANY, .action = RL_ACTION_ALLOW, .match = *match};
	char text[RULE_TEXT_MAX], *words, *end;

	rule_format(text, &rule, b->ctx->text);
	words = strchr(text, ' ');
	end = strrchr(text, ' ');
	if (!words || words == end)
		snprintf(out, RULE_TEXT_MAX, "every packet");
	else
		snprintf(out, RULE_TEXT_MAX, "a packet of \"%.*s\"", (int)(end - words - 1),
			 words + 1);
}

static int refuse_crowd(struct build *b, const struct crowd *crowd)
{
	char packet[RULE_TEXT_MAX], what[RULE_TEXT_MAX + 128];

	packet_print(packet, b, &crowd->packet);
	snprintf(what, sizeof(what),
		 "the last of %zu rules that, by protocol and port, %s may match", crowd->count,
		 packet);
	return build_refuse_max(b, crowd->last, -E2BIG, what, RL_RUN_MAX,
				"give them protocols or ports, or write those of single addresses "
				"as rules for these prefixes");
}

static bool is_one_prefix(const struct meeting *met)
{
	for (size_t i = 1; i < met->count; i++)
		if (!same_prefix(met->rules[0], met->rules[i]))
			return false;
	return true;
}

/* Each of them, at its line. */
static int refuse_meeting(struct build *b, const struct meeting *met)
{
	char packet[RULE_TEXT_MAX], what[RULE_TEXT_MAX + 128];

	packet_print(packet, b, &met->packet);
	snprintf(what, sizeof(what), "%s would meet this limit and %zu others of %s", packet,
		 met->count - 1,
		 is_one_prefix(met) ? "its prefix" : "sets that its address may be in");
	for (size_t i = 0; i < met->count; i++)
		build_refuse_max(b, met->rules[i], -E2BIG, what, RL_GROUP_MAX,
				 "remove one, or narrow their matches");
	return 0;
}

int limits_check(struct build *b, const struct rule *const *order, size_t count)
{
	const struct policy_context *text = b->ctx->text;
	struct meeting met;
	int ret = limits_meet(order, count, text && text->by_dest, &met);

	if (ret == -E2BIG)
		return refuse_meeting(b, &met);
	if (ret == -EOVERFLOW)
		return build_refuse(b, order[count - 1], -E2BIG,
				    "the limits of this prefix overlap in too many ways to tell "
				    "whether one packet could meet more than 8: narrow their "
				    "matches");
	return ret;
}

static int index_make(struct build *b, const struct rule *const *order, size_t count,
		      uint32_t begin)
{
	struct crowd crowd;
	int ret = index_append(&b->out->index, order, count, begin, &crowd);

	if (ret == -E2BIG)
		return refuse_crowd(b, &crowd);
	if (ret == -ENOSPC)
		return build_refuse_max(b, order[0], -E2BIG, "the index of all rules is too large",
					RL_INDEX_MAX,
					"write fewer prefixes with more than 8 rules, or rules "
					"whose ports overlap less");
	return ret;
}

/* Errors of one prefix do not keep those of others from being found. */
int group_index(struct build *b, const struct rule *first, size_t count, uint32_t begin)
{
	const struct rule **order =
		(const struct rule **)calloc(count, sizeof(const struct rule *));
	size_t used = 0;
	int ret = -ENOMEM;

	for (int action = RL_ACTION_ALLOW; order && action <= RL_ACTION_LIMIT; action++)
		for (const struct rule *rule = first; rule < first + count; rule++)
			if (rule->action == action)
				order[used++] = rule;
	if (order)
		ret = limits_check(b, order, count);
	if (order && !ret)
		ret = index_make(b, order, count, begin);
	free(order);
	return ret == -ENOMEM ? ret : 0;
}
