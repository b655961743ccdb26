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

uint32_t rule_ports(const struct rule *rule, enum rl_match_flag flag,
		    struct rl_port_range out[RL_PORT_RANGES_MAX])
{
	const struct match *match = &rule->match;
	const struct rl_extra *extra = rule->extra;
	bool sport = flag == RL_MATCH_SPORT;
	uint32_t count = !extra ? 0 : sport ? extra->sport_count : extra->dport_count;

	if (!(match->flags & flag))
		return 0;
	if (count)
		memcpy(out, sport ? extra->sport : extra->dport, count * sizeof(*out));
	else if (sport)
		out[0] = (struct rl_port_range){match->sport_first, match->sport_last};
	else
		out[0] = (struct rl_port_range){match->dport_first, match->dport_last};
	return count ? count : 1;
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
