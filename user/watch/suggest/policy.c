// SPDX-License-Identifier: GPL-2.0-only
/* Suggestions in the policy language. */
#include "watch/suggest/suggest.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "policy/names.h"

/* The ports that have limits of their own: " not dport 22,443". */
static void others_print(char *buf, size_t size, const struct suggestion *suggestion,
			 enum suggest_kind kind)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < suggestion->count && used < size; i++)
		if (suggestion->classes[i].kind == kind)
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu16,
						 used ? "," : " not dport ",
						 suggestion->classes[i].number);
}

void suggest_match_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			 enum suggest_kind kind, uint16_t number)
{
	const struct protocol *protocol = protocol_by_number((uint8_t)number);
	char others[SUGGEST_RULE_MAX / 2];

	switch (kind) {
	case SUGGEST_TCP:
	case SUGGEST_UDP:
		snprintf(buf, SUGGEST_RULE_MAX, "%s dport %" PRIu16,
			 kind == SUGGEST_TCP ? "tcp" : "udp", number);
		break;
	case SUGGEST_PROTO:
		if (protocol)
			snprintf(buf, SUGGEST_RULE_MAX, "%s", protocol->name);
		else
			snprintf(buf, SUGGEST_RULE_MAX, "proto %" PRIu16, number);
		break;
	case SUGGEST_REST_TCP:
	case SUGGEST_REST_UDP:
		others_print(others, sizeof(others), suggestion,
			     kind == SUGGEST_REST_TCP ? SUGGEST_TCP : SUGGEST_UDP);
		snprintf(buf, SUGGEST_RULE_MAX, "%s%s", kind == SUGGEST_REST_TCP ? "tcp" : "udp",
			 others);
		break;
	case SUGGEST_FRAGMENT:
		snprintf(buf, SUGGEST_RULE_MAX, "fragment");
		break;
	case SUGGEST_ALL:
		buf[0] = '\0';
		break;
	}
}

bool suggest_has_rule(const struct suggest_class *class, bool sum)
{
	bool seen = class->packets || class->left_out.packets || class->kind == SUGGEST_ALL;

	return seen && (sum || class->kind != SUGGEST_FRAGMENT);
}

/* A client that has proved to be there is spared, but by the limit that holds each client of a
 * service. Packets of GRE, for example, are never established. */
static const char *over_of(const struct suggest_class *class, bool sum, bool enforce)
{
	const struct match match = {.flags = RL_MATCH_PROTO, .proto = class->number};
	bool spared = class->kind != SUGGEST_PROTO || match_may_be_established(&match);

	if (!enforce)
		return " over count";
	return (sum || class->kind > SUGGEST_PROTO) && spared ? " over drop unless established"
							      : "";
}

void suggest_rule_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			const struct suggest_class *class, bool sum, bool enforce)
{
	const struct suggest_limit *limit = sum ? &class->sum_limit : &class->source_limit;
	char match[SUGGEST_RULE_MAX], rate[QUANTITY_TEXT_MAX];

	suggest_match_print(match, suggestion, class->kind, class->number);
	rate_print(rate, sizeof(rate), limit->amount, limit->period_ns, RL_PACKETS);
	snprintf(buf, SUGGEST_RULE_MAX, "rule %s%s%.255s limit %s burst %" PRIu64 "%s",
		 sum ? "device" : "any", *match ? " " : "", match, rate, limit->burst,
		 over_of(class, sum, enforce));
}
