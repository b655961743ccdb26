// SPDX-License-Identifier: GPL-2.0-only
/* The alarms of a policy: model to text, in how many tenths they look, and which rules name them.
 */
#include "policy/alarm.h"

#include <errno.h>
#include <string.h>

#include "base/hint.h"
#include "base/units.h"
#include "policy/named.h"
#include "policy/sets/set.h"

static int phase_print(char *buf, size_t size, const char *word, const struct policy_alarm *alarm,
		       unsigned int which)
{
	const struct policy_alarm_phase *phase = &alarm->phase[which];
	char rate[QUANTITY_TEXT_MAX], time[QUANTITY_TEXT_MAX];

	rate_print(rate, sizeof(rate), phase->amount, phase->period_ns, alarm->unit);
	duration_print(time, sizeof(time), phase->for_ns);
	return snprintf(buf, size, "%s %s for %s", word, rate, time);
}

#define PHASE_TEXT_MAX (2 * QUANTITY_TEXT_MAX + 16)

int alarm_print(char *buf, size_t size, const struct policy_alarm *alarm,
		const struct policy_context *ctx)
{
	char counts[RULE_TEXT_MAX], on[PHASE_TEXT_MAX], off[PHASE_TEXT_MAX];

	if (alarm->manual)
		return snprintf(buf, size, "alarm %s manual%s%s", alarm->name,
				alarm->comment[0] ? " # " : "", alarm->comment);
	rule_format(counts, &alarm->counts, ctx);
	phase_print(on, sizeof(on), "over", alarm, 0);
	phase_print(off, sizeof(off), "under", alarm, 1);
	return snprintf(buf, size, "alarm %s when%s %s until %s%s%s", alarm->name,
			counts + strlen("any"), on, off, alarm->comment[0] ? " # " : "",
			alarm->comment);
}

uint32_t alarm_tenths(uint64_t for_ns)
{
	uint64_t fit = for_ns / RL_ALARM_TENTH_MIN;

	return fit < RL_ALARM_TENTHS ? (uint32_t)fit : RL_ALARM_TENTHS;
}

static struct named named_alarms(const struct policy *policy)
{
	return (struct named){policy->alarms, policy->alarm_count, sizeof(*policy->alarms)};
}

struct policy_alarm *policy_alarm_find(const struct policy *policy, const char *name)
{
	return named_find(named_alarms(policy), name);
}

uint32_t policy_alarm_number(const struct policy *policy, const struct policy_alarm *alarm)
{
	uint32_t number = 0;

	for (size_t i = 0; i < policy->alarm_count; i++) {
		const struct policy_alarm *other = &policy->alarms[i];

		number += other->manual == alarm->manual ? other < alarm : alarm->manual;
	}
	return number;
}

int policy_alarm_put(struct policy *policy, const struct policy_alarm *alarm)
{
	struct named list = named_put(named_alarms(policy), alarm);

	if (!list.items)
		return -ENOMEM;
	policy->alarms = list.items;
	policy->alarm_count = list.count;
	return 0;
}

int policy_names_copy(struct policy *policy, const struct policy *from)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < from->set_count; i++)
		ret = policy_set_put(policy, &from->sets[i]);
	for (size_t i = 0; !ret && i < from->alarm_count; i++)
		ret = policy_alarm_put(policy, &from->alarms[i]);
	return ret;
}

bool alarm_counts_alike(const struct policy_alarm *a, const struct policy_alarm *b)
{
	return !strcmp(a->name, b->name) && same_match(&a->counts, &b->counts) &&
	       !memcmp(a->phase, b->phase, sizeof(a->phase)) && a->unit == b->unit &&
	       a->manual == b->manual;
}

bool same_alarm(const struct policy_alarm *a, const struct policy_alarm *b)
{
	return alarm_counts_alike(a, b) && !strcmp(a->comment, b->comment);
}

size_t policy_alarms_diff(const struct policy *from, const struct policy *to, alarm_diff_fn tell,
			  void *arg)
{
	struct named_place at = {0};
	const void *left, *right;
	size_t count = 0;

	while (named_next(named_alarms(from), named_alarms(to), &at, &left, &right)) {
		if (left && right && same_alarm(left, right))
			continue;
		if (tell)
			tell(left, right, arg);
		count++;
	}
	return count;
}

void alarm_missing_print(char *buf, size_t size, const struct policy *policy, const char *name,
			 bool in_force)
{
	struct hint hint = {.word = name};

	for (size_t i = 0; i < policy->alarm_count; i++)
		hint_offer(&hint, policy->alarms[i].name);
	if (hint.best)
		snprintf(buf, size, "unknown alarm \"%s\": did you mean %s?", name, hint.best);
	else if (in_force)
		snprintf(
			buf, size,
			"unknown alarm \"%s\": apply a policy with a line \"alarm %s when ...\" first",
			name, name);
	else
		snprintf(buf, size, "unknown alarm \"%s\": add a line \"alarm %s when ...\"", name,
			 name);
}

size_t policy_alarms_missing(const struct policy *policy, const struct policy *known,
			     alarm_refuse_fn refuse, void *arg)
{
	size_t count = 0;

	policy_for_each (policy, rule) {
		bool off;
		const char *name = rule_while(rule, &off);

		if (!name[0] || policy_alarm_find(known, name))
			continue;
		if (refuse)
			refuse(rule, name, arg);
		count++;
	}
	return count;
}
