// SPDX-License-Identifier: GPL-2.0-only
/* The alarms of an instance, as they stand now. */
#include "kernel/state/alarms.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "algorithm/alarm.h"
#include "base/clock.h"
#include "base/units.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/alarm_maps.h"

#define READ_RETRIES 100

/* As packets see it, whose clock is late by up to a tick: nothing is shown before it is so. */
static uint64_t time_of(const struct instance *instance)
{
	if (instance->clock_injected)
		return instance->now_ns;
	return clock_ns(CLOCK_MONOTONIC) - instance->info.tick_ns;
}

/* The rate of the last tenth that has ended: just after a change it was of the other condition. */
static double rate_of(const struct rl_alarm *alarm)
{
	const struct rl_alarm_state *s = &alarm->state;
	bool changed = s->since_ns && s->since_ns == s->tenth_began_ns;
	const struct rl_alarm_phase *phase = &alarm->phase[(s->on ^ changed) & 1];

	return (double)s->last * NS_PER_SECOND / (double)phase->tenth_ns;
}

/* When a manual alarm goes off by itself; 0: it does not. */
static uint64_t end_of(const struct rl_alarm *alarm)
{
	bool ends = alarm->state.on && alarm->phase[1].tenth_ns != RL_ALARM_NEVER;

	return ends ? alarm_next(&alarm->state, alarm) : 0;
}

/* The state of an alarm that no packet has met since attach begins with the first. */
static void alarm_tell(struct rl_alarm *alarm, uint64_t now_ns, uint64_t counted,
		       struct alarm_now *out)
{
	if (alarm->state.tenth_began_ns)
		alarm_advance(&alarm->state, alarm, now_ns, counted);
	*out = (struct alarm_now){
		.on = alarm->state.on,
		.since_ns = alarm->state.since_ns,
		.changes = alarm->state.changes,
		.counted = counted,
		.rate = rate_of(alarm),
		.manual = alarm->manual,
		.ends_ns = alarm->manual ? end_of(alarm) : 0,
		.unit = alarm->unit,
		.phase = {alarm->phase[0], alarm->phase[1]},
	};
	memcpy(out->name, alarm->name, sizeof(out->name) - 1);
	memcpy(out->comment, alarm->comment, sizeof(out->comment) - 1);
}

static int read_once(const struct instance *instance, struct compiled *read, struct alarms_now *out)
{
	uint64_t sums[RL_ALARMS_MAX];
	uint64_t now_ns = time_of(instance); /* first: what is counted after a copy is no silence */
	int ret = alarms_get(instance, read);

	if (ret || !read->alarms)
		return ret;
	ret = alarm_counts_sum(instance, read->header.half, sums);
	if (!ret && read->alarms->count > RL_ALARMS_MAX)
		ret = -EBADMSG;
	for (uint32_t i = 0; !ret && i < read->alarms->count; i++)
		alarm_tell(&read->alarms->alarm[i], now_ns, sums[i], &out->alarm[i]);
	if (!ret)
		out->count = read->alarms->count;
	return ret;
}

/* If another process wrote a policy meanwhile, reads again. */
int alarms_read(const struct instance *instance, struct alarms_now *out)
{
	int ret = -EAGAIN;

	for (int i = 0; i < READ_RETRIES; i++) {
		struct compiled read = {0};
		struct rl_policy_header after;
		uint64_t written;

		memset(out, 0, sizeof(*out));
		ret = policy_header_read(instance, &read.header);
		if (ret == -ENOENT) /* none was written yet */
			return 0;
		if (ret)
			return ret;
		written = read.header.written;
		ret = read_once(instance, &read, out);
		compiled_clear(&read);
		if (!policy_header_read(instance, &after) && after.written == written)
			return ret;
	}
	return -EAGAIN;
}

int alarms_restart(const struct instance *instance)
{
	struct compiled fresh = {0};
	int ret = policy_header_read(instance, &fresh.header);

	if (!ret)
		ret = alarms_get(instance, &fresh);
	for (uint32_t i = 0; !ret && fresh.alarms && i < fresh.alarms->count; i++)
		fresh.alarms->alarm[i].state = (struct rl_alarm_state){0};
	if (!ret && fresh.alarms) {
		fresh.alarms->on = 0;
		fresh.alarms->uneasy_ns = 0;
		fresh.alarms->next_ns = 0;
		ret = alarms_go_on(instance, &fresh);
	}
	compiled_clear(&fresh);
	return ret;
}
