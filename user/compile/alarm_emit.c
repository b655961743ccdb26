// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/alarm.h"
#include "policy/policy.h"

/* ---- numbers */

/* Packets or bytes that the rate gives in so many tenths, in *out, and whether there is a rest:
 * more than the rate is more than that many, and less than the rate is less than one more if there
 * is. */
static bool amount_in(const struct rl_alarm_phase *phase, uint32_t tenths, uint8_t unit, __u64 *out)
{
	unsigned __int128 amount = (unsigned __int128)phase->amount * phase->tenth_ns * tenths;
	unsigned __int128 per = (unsigned __int128)phase->period_ns * (unit == RL_BITS ? 8 : 1);
	unsigned __int128 whole = amount / per;

	*out = whole > UINT64_MAX - 1 ? UINT64_MAX - 1 : (__u64)whole;
	return amount % per != 0;
}

static void phase_emit(const struct policy_alarm *alarm, int which, struct rl_alarm_phase *out)
{
	bool rest;

	out->amount = alarm->phase[which].amount;
	out->period_ns = alarm->phase[which].period_ns;
	out->for_ns = alarm->phase[which].for_ns;
	out->tenths = alarm_tenths(out->for_ns);
	out->tenth_ns = out->for_ns / out->tenths;
	rest = amount_in(out, 1, alarm->unit, &out->limit);
	if (which)
		out->limit += rest || !out->limit;
}

/* ---- the policy in force */

/* Do they count the same, and go on and off alike? */
static bool same_counting(const struct policy_alarm *a, const struct policy_alarm *b)
{
	return !strcmp(a->name, b->name) && a->unit == b->unit &&
	       !memcmp(a->phase, b->phase, sizeof(a->phase)) && same_match(&a->counts, &b->counts);
}

void alarms_inherit(const struct policy *next, const struct policy *in_force, struct compiled *out)
{
	out->alarms_same = next->alarm_count == in_force->alarm_count;
	for (size_t i = 0; i < next->alarm_count && i < RL_ALARMS_MAX; i++) {
		const struct policy_alarm *alarm = &next->alarms[i];
		const struct policy_alarm *old = policy_alarm_find(in_force, alarm->name);

		out->alarm_from[i] = 0;
		if (old && same_counting(old, alarm))
			out->alarm_from[i] = old - in_force->alarms + 1;
		if (!old || (size_t)(old - in_force->alarms) != i || !same_alarm(old, alarm))
			out->alarms_same = false;
	}
}

/* ---- */

static void alarm_emit(struct build *b, const struct policy_alarm *alarm, uint32_t number)
{
	struct rl_alarm *out = &b->out->alarms->alarm[number];
	struct rule counts = alarm->counts;

	counts.line = alarm->line;
	/* Its count needs more than headers, as to which sets an address is in. */
	if (counts.match.flags & (RL_MATCH_PAYLOAD | RL_MATCH_FILTER) ||
	    match_names_set(&counts.match, RL_MATCH_SRC) ||
	    match_names_set(&counts.match, RL_MATCH_DST))
		b->out->header.uses |= RL_USE_FACTS_FIRST;
	*out = (struct rl_alarm){.unit = alarm->unit};
	memcpy(out->name, alarm->name, sizeof(out->name));
	memcpy(out->comment, alarm->comment, sizeof(alarm->comment));
	phase_emit(alarm, 0, &out->phase[0]);
	phase_emit(alarm, 1, &out->phase[1]);
	amount_in(&out->phase[0], RL_ALARM_DURATIONS * out->phase[0].tenths, alarm->unit,
		  &out->most);
	counting_emit(b, &counts, alarm->unit != RL_PACKETS);
}

int alarms_emit(struct build *b, const struct policy *policy)
{
	struct rl_policy_header *header = &b->out->header;

	if (!policy->alarm_count)
		return 0;
	if (policy->alarm_count > RL_ALARMS_MAX) {
		build_refuse_max(b, NULL, -E2BIG, "too many alarms", RL_ALARMS_MAX, "remove some");
		return 0;
	}
	if (b->out->first_rule + b->out->rule_count + policy->alarm_count > b->rules_most) {
		build_refuse_room(b);
		return 0;
	}
	b->out->alarms = calloc(1, sizeof(*b->out->alarms));
	if (!b->out->alarms)
		return -ENOMEM;
	header->uses |= RL_USE_ALARMS;
	header->alarms.first = b->base + b->out->rule_count;
	header->alarms.count = policy->alarm_count;
	b->out->alarms->count = policy->alarm_count;
	for (size_t i = 0; i < policy->alarm_count; i++)
		alarm_emit(b, &policy->alarms[i], i);
	return 0;
}
