// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <string.h>

#include "base/units.h"
#include "policy/alarm.h"
#include "policy/policy.h"

#define RIPENS_MS_MAX 100000               /* a third of the time that a source is known */
#define MANUAL_NS     (10 * NS_PER_SECOND) /* in which whoever turns one on notices a flood */
#define NO_SHAPE      (RL_MATCH_NEW_SOURCE | RL_MATCH_ESTABLISHED)

struct shapes {
	struct rule rules[RL_KNOWN_BY_MAX];
	uint32_t count;
	bool all; /* packets of any shape */
};

static bool asks_known(const struct rule *rule)
{
	return rule->match.flags & RL_MATCH_NEW_SOURCE ||
	       (rule->action == RL_ACTION_LIMIT && limit_asks_known(&rule->limit));
}

/* The rest of its match: what the packet looks like. */
static struct rule shape_of(const struct rule *rule, int *ret)
{
	struct rule shape = *rule;
	struct rl_extra extra;

	shape.kind = PREFIX_ANY;
	shape.action = RL_ACTION_COUNT;
	memset(&shape.limit, 0, sizeof(shape.limit));
	shape.limit_id = 0;
	shape.expires_ns = 0;
	shape.match.flags &= ~NO_SHAPE;
	shape.match.negated &= ~NO_SHAPE;
	if (!rule_has_while(rule))
		return shape;
	extra = *rule->extra;
	memset(extra.alarm, 0, sizeof(extra.alarm));
	extra.alarm_not = 0;
	shape.extra = extra_is_while(rule) ? NULL : extra_intern(&extra, ret);
	return shape;
}

static int shape_add(struct shapes *shapes, const struct rule *rule)
{
	int ret = 0;
	struct rule shape = shape_of(rule, &ret);

	for (uint32_t i = 0; i < shapes->count; i++)
		if (same_match(&shapes->rules[i], &shape))
			return ret;
	shapes->all |= !shape.match.flags || shapes->count == RL_KNOWN_BY_MAX;
	if (!shapes->all)
		shapes->rules[shapes->count++] = shape;
	return ret;
}

/* The alarm that stands after its `while` is one of those while which no source becomes known. */
static void guard_add(struct build *b, const struct rule *rule)
{
	struct rl_policy_header *header = &b->out->header;
	const struct policy_alarm *alarm;
	uint64_t for_ns, ms;

	if (!rule_has_while(rule) || rule->extra->alarm_not ||
	    !match_wants(&rule->match, RL_MATCH_NEW_SOURCE))
		return;
	alarm = policy_alarm_find(b->next, rule->extra->alarm);
	if (!alarm)
		return;
	header->guards |= 1u << (policy_alarm_number(b->next, alarm) & (RL_ALARMS_MAX - 1));
	/* A flood has a tenth over the rate within two; but a word that is not ripe must last
	 * longer. */
	for_ns = alarm->manual ? MANUAL_NS : alarm->phase[0].for_ns;
	ms = 3 * (for_ns / alarm_tenths(for_ns)) / NS_PER_MS;
	ms = ms < RIPENS_MS_MAX ? ms : RIPENS_MS_MAX;
	header->ripens_ms = ms > header->ripens_ms ? ms : header->ripens_ms;
}

int known_by_emit(struct build *b, const struct policy *policy)
{
	struct rl_policy_header *header = &b->out->header;
	struct shapes shapes = {0};
	int ret = 0;

	policy_for_each (policy, rule) {
		if (!asks_known(rule))
			continue;
		guard_add(b, rule);
		ret = ret ? ret : shape_add(&shapes, rule);
	}
	if (ret || shapes.all || !shapes.count)
		return ret;
	if (b->out->first_rule + b->out->rule_count + shapes.count > b->rules_most) {
		build_refuse_room(b);
		return 0;
	}
	header->uses |= RL_USE_KNOWN_BY;
	header->known_by.first = b->base + b->out->rule_count;
	header->known_by.count = shapes.count;
	for (uint32_t i = 0; i < shapes.count; i++)
		counting_emit(b, &shapes.rules[i], false);
	return 0;
}

bool known_by_changes(const struct policy *prefix, const struct rl_policy_header *header)
{
	policy_for_each (prefix, rule)
		if (asks_known(rule) && (header->known_by.count || rule_has_while(rule) ||
					 rule->match.flags & ~NO_SHAPE))
			return true;
	return false;
}
