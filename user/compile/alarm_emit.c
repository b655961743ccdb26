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

void alarms_inherit(const struct policy *next, const struct policy *in_force, struct compiled *out)
{
	out->alarms_same = next->alarm_count == in_force->alarm_count;
	for (size_t i = 0; i < next->alarm_count && i < RL_ALARMS_MAX; i++) {
		const struct policy_alarm *alarm = &next->alarms[i];
		const struct policy_alarm *old = policy_alarm_find(in_force, alarm->name);

		uint32_t number = policy_alarm_number(next, alarm);
		uint32_t from = old ? policy_alarm_number(in_force, old) : RL_ALARMS_MAX;

		out->alarm_from[number] = old && alarm_counts_alike(old, alarm) ? from + 1 : 0;
		if (from != number || !same_alarm(old, alarm))
			out->alarms_same = false;
	}
}

/* ---- */

static void alarm_emit(struct build *b, const struct policy_alarm *alarm, struct rl_alarm *out)
{
	struct rule counts = alarm->counts;

	*out = (struct rl_alarm){.unit = alarm->unit};
	memcpy(out->name, alarm->name, sizeof(out->name));
	memcpy(out->comment, alarm->comment, sizeof(alarm->comment));
	if (alarm->manual) { /* never more than the first rate, and always less than the second */
		out->manual = 1;
		out->most = UINT64_MAX;
		for (int which = 0; which < 2; which++)
			out->phase[which] = (struct rl_alarm_phase){.tenth_ns = RL_ALARM_NEVER,
								    .limit = which ? 1 : UINT64_MAX,
								    .tenths = 1};
		return;
	}
	counts.line = alarm->line;
	/* Its count needs more than headers, as to which sets an address is in. */
	if (counts.match.flags & (RL_MATCH_PAYLOAD | RL_MATCH_FILTER) ||
	    match_names_set(&counts.match, RL_MATCH_SRC) ||
	    match_names_set(&counts.match, RL_MATCH_DST))
		b->out->header.uses |= RL_USE_FACTS_FIRST;
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
		build_refuse(b, NULL, -E2BIG, "too many alarms (at most %u): remove some",
			     RL_ALARMS_MAX);
		return 0;
	}
	if (b->out->first_rule + b->out->rule_count + policy->alarm_count > b->rules_most) {
		build_refuse_room(b);
		return 0;
	}
	b->out->alarms = calloc(1, sizeof(*b->out->alarms));
	if (!b->out->alarms)
		return -ENOMEM;
	header->alarms.first = b->base + b->out->rule_count;
	b->out->alarms->count = policy->alarm_count;
	for (size_t i = 0; i < policy->alarm_count; i++) {
		const struct policy_alarm *alarm = &policy->alarms[i];

		header->uses |= alarm->manual ? RL_USE_MANUAL : RL_USE_ALARMS;
		header->alarms.count += !alarm->manual;
		alarm_emit(b, alarm, &b->out->alarms->alarm[policy_alarm_number(policy, alarm)]);
	}
	return 0;
}
