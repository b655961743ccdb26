// SPDX-License-Identifier: GPL-2.0-only
/* Conditions that few rules state: each kept once, so that rules are copied and compared as values.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "policy/while.h"

static void *interned; /* of tsearch() */

static int extra_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct rl_extra));
}

const struct rl_extra *extra_intern(const struct rl_extra *extra, int *ret)
{
	struct rl_extra *copy;
	void *found;

	*ret = 0;
	found = tfind(extra, &interned, extra_compare);
	if (found)
		return *(const struct rl_extra **)found;
	copy = malloc(sizeof(*copy));
	if (copy)
		*copy = *extra;
	if (copy && tsearch(copy, &interned, extra_compare))
		return copy;
	free(copy);
	*ret = -ENOMEM;
	return NULL;
}

void extra_forget(void)
{
	tdestroy(interned, free);
	interned = NULL;
}

static uint32_t ranges_of(bool stated, uint32_t count, const struct rl_port_range *list,
			  struct rl_port_range span, struct rl_port_range *out)
{
	if (!stated)
		return 0;
	if (!count) {
		out[0] = span;
		return 1;
	}
	memcpy(out, list, count * sizeof(*out));
	return count;
}

uint32_t rule_sports(const struct rule *rule, struct rl_port_range out[RL_PORT_RANGES_MAX])
{
	const struct match *match = &rule->match;

	return ranges_of(match->flags & RL_MATCH_SPORT, rule->extra ? rule->extra->sport_count : 0,
			 rule->extra ? rule->extra->sport : NULL,
			 (struct rl_port_range){match->sport_first, match->sport_last}, out);
}

uint32_t rule_dports(const struct rule *rule, struct rl_port_range out[RL_PORT_RANGES_MAX])
{
	const struct match *match = &rule->match;

	return ranges_of(match->flags & RL_MATCH_DPORT, rule->extra ? rule->extra->dport_count : 0,
			 rule->extra ? rule->extra->dport : NULL,
			 (struct rl_port_range){match->dport_first, match->dport_last}, out);
}

const char *rule_while(const struct rule *rule, bool *off)
{
	*off = rule->extra && rule->extra->alarm_not;
	return rule->extra ? rule->extra->alarm : "";
}

enum held while_held(const struct rule *rule, const struct alarm_states *states)
{
	bool off;
	const char *name = rule_while(rule, &off);
	enum alarm_is is = ALARM_IS_UNKNOWN;

	if (!name[0])
		return HELD;
	if (states && states->of)
		is = states->of(name, states->arg);
	if (is == ALARM_IS_UNKNOWN)
		return HELD_UNKNOWN;
	return (is == ALARM_IS_ON) != off ? HELD : HELD_NOT;
}

bool same_while(const struct rule *a, const struct rule *b)
{
	bool off_a, off_b;
	const char *name_a = rule_while(a, &off_a), *name_b = rule_while(b, &off_b);

	return !strcmp(name_a, name_b) && off_a == off_b;
}
