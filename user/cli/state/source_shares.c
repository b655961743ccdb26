// SPDX-License-Identifier: GPL-2.0-only
#include "cli/state/source_shares.h"

#include <stdio.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/shares_output.h"

/* A set is not asked whether it has the address. */
static bool counts_packets_of(const struct rule *rule, const uint8_t addr[16])
{
	if (rule->kind == PREFIX_ADDR)
		return prefix_contains(rule->addr, rule->len, addr);
	return rule->kind == PREFIX_ANY || rule->kind == PREFIX_DEVICE;
}

static void share_line_print(const struct rule *rule, const struct policy_context *ctx,
			     const struct share_counts *counts, bool known)
{
	char words[RULE_TEXT_MAX], room[NUMBER_TEXT_MAX], established[NUMBER_TEXT_MAX];
	const char *unit = rule->limit.unit == RL_PACKETS ? "" : " bytes";

	rule_format(words, rule, ctx);
	if (!counts->is_short) {
		printf("'%s' is not short now\n", words);
		return;
	}
	number_print(room, counts->room[known ? RL_SHARE_KNOWN : RL_SHARE_STRANGER]);
	number_print(established, counts->room[RL_SHARE_ESTABLISHED]);
	printf("'%s' is short now: %s have %s%s/s, established packets %s%s/s\n", words,
	       known ? "known sources" : "strangers", room, unit, established, unit);
}

static struct json_object *json_source_share(const struct rule *rule,
					     const struct policy_context *ctx,
					     const struct share_counts *counts, bool known)
{
	struct json_object *object = json_object_new_object();
	int class = known ? RL_SHARE_KNOWN : RL_SHARE_STRANGER;
	char words[RULE_TEXT_MAX];

	rule_format(words, rule, ctx);
	json_put_text(object, "rule", words);
	json_put_text(object, "class", share_class_names[class]);
	json_put_bool(object, "short", counts->is_short);
	json_put_text(object, "unit", share_unit(rule));
	if (counts->is_short) {
		json_put_number(object, "room", counts->room[class]);
		json_put_number(object, "pace", counts->pace[class]);
	}
	return object;
}

void source_shares_report(const struct source_class *source, const struct policy *policy,
			  const struct policy_context *ctx, const struct share_counts *counts,
			  struct json_object *document)
{
	struct json_object *shares = document && counts ? json_object_new_array() : NULL;

	for (size_t i = 0; counts && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (!counts[i].has_classes || !counts_packets_of(rule, source->addr))
			continue;
		if (shares)
			json_append(shares,
				    json_source_share(rule, ctx, &counts[i], source->known));
		else
			share_line_print(rule, ctx, &counts[i], source->known);
	}
	if (shares)
		json_put(document, "shares", shares);
}
