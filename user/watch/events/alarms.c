// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "watch/events/alarms.h"

void alarm_rate_print(char *buf, size_t size, const struct alarm_now *alarm)
{
	static const char *const names[] = {
		[RL_PACKETS] = "packets", [RL_BYTES] = "bytes", [RL_BITS] = "bits"};
	double rate = alarm->unit == RL_BITS ? alarm->rate * 8 : alarm->rate;

	if (alarm->manual)
		snprintf(buf, size, "manual");
	else
		snprintf(buf, size, "%s %s/s", number_text((uint64_t)llround(rate)),
			 names[alarm->unit]);
}

void alarm_phase_print(char buf[ALARM_PHASE_MAX], const struct alarm_now *alarm, unsigned int phase)
{
	const struct rl_alarm_phase *p = &alarm->phase[phase];
	char rate[QUANTITY_TEXT_MAX], time[QUANTITY_TEXT_MAX];

	rate_print(rate, sizeof(rate), p->amount, p->period_ns, alarm->unit);
	duration_print(time, sizeof(time), p->for_ns);
	snprintf(buf, ALARM_PHASE_MAX, "%s for %s", rate, time);
}

static const char *age_of(const struct alarm_now *alarm, const struct clock_pair *at)
{
	bool past = at->monotonic_ns > alarm->since_ns;

	return wait_text(past ? at->monotonic_ns - alarm->since_ns : 0);
}

void alarm_since_print(char *buf, size_t size, const struct alarm_now *alarm,
		       const struct clock_pair *at)
{
	char time[NUMBER_TEXT_MAX];

	time_print(time, clock_realtime(at, alarm->since_ns), true);
	if (alarm->since_ns)
		snprintf(buf, size, "%s (%s)", time, age_of(alarm, at));
	else
		snprintf(buf, size, "-");
}

void alarm_end_print(char buf[NUMBER_TEXT_MAX + 4], const struct alarm_now *alarm,
		     const struct clock_pair *at)
{
	uint64_t now_ns = at->monotonic_ns;

	snprintf(buf, NUMBER_TEXT_MAX + 4, "in %s",
		 wait_text(alarm->ends_ns > now_ns ? alarm->ends_ns - now_ns : 0));
}

int alarm_line_print(char *buf, size_t size, const struct alarm_now *alarm,
		     const struct clock_pair *at)
{
	char rate[NUMBER_TEXT_MAX + 16], since[2 * NUMBER_TEXT_MAX + 8];
	char next[ALARM_PHASE_MAX] = ""; /* its next change */
	const char *verb = "";

	alarm_rate_print(rate, sizeof(rate), alarm);
	alarm_since_print(since, sizeof(since), alarm, at);
	if (!alarm->manual) {
		verb = alarm->on ? ", off under " : ", on over ";
		alarm_phase_print(next, alarm, alarm->on);
	} else if (alarm->ends_ns) {
		verb = ", off ";
		alarm_end_print(next, alarm, at);
	}
	return snprintf(buf, size, "%s %s%s%s, %s%s%s", alarm->name, alarm->on ? "on" : "off",
			alarm->since_ns ? " since " : "", alarm->since_ns ? since : "", rate, verb,
			next);
}

bool alarms_on_print(char *buf, size_t size, const struct alarms_now *alarms,
		     const struct clock_pair *at)
{
	char rate[NUMBER_TEXT_MAX + 16], time[16];
	size_t used = 0;

	for (uint32_t i = 0; i < alarms->count; i++) {
		const struct alarm_now *alarm = &alarms->alarm[i];
		time_t seconds = (time_t)(clock_realtime(at, alarm->since_ns) / NS_PER_SECOND);
		struct tm tm;

		if (!alarm->on || used + 16 > size)
			continue;
		localtime_r(&seconds, &tm);
		strftime(time, sizeof(time), "%T", &tm);
		alarm_rate_print(rate, sizeof(rate), alarm);
		/* The age says of which day the time is. */
		used += (size_t)snprintf(buf + used, size - used, "%s%s since %s (%s), %s",
					 used ? "; " : "alarms on: ", alarm->name, time,
					 age_of(alarm, at), rate);
		used = used < size ? used : size - 1;
	}
	return used;
}

/* Which alarms went on or off between two readings: by their names, their numbers of changes and
 * their states. */

static const struct alarm_now *alarm_find(const struct alarms_now *alarms, const char *name)
{
	for (uint32_t i = 0; i < alarms->count; i++)
		if (!strcmp(alarms->alarm[i].name, name))
			return &alarms->alarm[i];
	return NULL;
}

void alarm_changes_tell(struct alarm_changes *changes, const struct alarms_now *now,
			alarm_change_fn tell, void *arg)
{
	/* Those that were on and are not in the policy any more. */
	for (uint32_t i = 0; changes->read && i < changes->before.count; i++) {
		struct alarm_now off = changes->before.alarm[i];

		if (!off.on || alarm_find(now, off.name))
			continue;
		off.on = false;
		off.since_ns = 0;
		off.rate = 0;
		tell(&off, arg);
	}
	for (uint32_t i = 0; changes->read && i < now->count; i++) {
		const struct alarm_now *alarm = &now->alarm[i];
		const struct alarm_now *before = alarm_find(&changes->before, alarm->name);

		/* The count begins anew with another alarm of that name, which is off at first. */
		if (before ? before->on != alarm->on ||
				     (alarm->changes && before->changes != alarm->changes)
			   : alarm->changes)
			tell(alarm, arg);
	}
	changes->before = *now;
	changes->read = true;
}

bool alarms_same_places(const struct alarms_now *a, const struct alarms_now *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = !strcmp(a->alarm[i].name, b->alarm[i].name);
	return same;
}

int alarms_read_if_known(const struct instance *instance, struct alarms_now *out)
{
	int ret = alarms_read(instance, out);

	if (!ret || ret == -EAGAIN || ret == -ENOENT || ret == -ESTALE)
		return !ret;
	fail("%s: reading the alarms failed: %s", instance->device, strerror(-ret));
	return ret;
}
