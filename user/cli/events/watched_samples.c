// SPDX-License-Identifier: GPL-2.0-only
/* Samples of what rules drop, and of what alarms count. A place on the board of watchers is taken
 * only while a rule drops, or an alarm is about to go on: in peace packets find nobody watching. */
#include <string.h>

#include "names.h"
#include "sample_probe.h"
#include "set_live.h"
#include "units.h"
#include "watched_samples.h"

#define SAMPLE_RATE 1000u               /* a second, of what is dropped, and of what passes */
#define LINGER_NS   (5 * NS_PER_SECOND) /* the place is kept for so long */
#define RETRY_NS    (5 * NS_PER_SECOND) /* after all places were taken */
#define ALARM_PART  2 /* of the rate at which an alarm goes on: one part in so many */

/* Of one round. */
struct sampling {
	struct watched *w;
	const struct policy_alarm *alarms[RL_ALARMS_MAX]; /* those of interest, by number */
	struct set_live sets;
};

static uint32_t reasons_wanted(bool passed)
{
	uint32_t bits = 0;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		bits |= reason_rows[i].passes && !passed ? 0 : 1u << i;
	return bits;
}

static void alarms_sample(struct sampling *s, const struct sampled *sampled)
{
	struct watched *w = s->w;

	for (uint32_t i = 0; i < w->alarms.count; i++)
		if (s->alarms[i] && sample_matches(&sampled->packet, &s->alarms[i]->counts, &w->ctx,
						   &s->sets.members, w->instance.info.raw_ip))
			traits_add(&w->alarm_traits[i], sampled, w->instance.info.raw_ip);
}

static int on_sample(void *arg, const struct sampled *sampled)
{
	struct sampling *s = arg;
	struct watched *w = s->w;
	struct rule_drops *drops = watched_drops_find(w, sampled->packet.counter_id);

	if (drops && !reason_rows[sampled->packet.reason % RL_REASON_COUNT].passes)
		traits_add(&drops->traits, sampled, w->instance.info.raw_ip);
	alarms_sample(s, sampled);
	return 0;
}

void watched_samples_close(struct watched *w)
{
	watch_close(w->watch);
	w->watch = NULL;
}

static void samples_open(struct watched *w, uint32_t reasons, uint64_t now_ns)
{
	bool both = reasons == reasons_wanted(true);
	const struct watch_options options = {.reasons = reasons,
					      .rate = both ? 2 * SAMPLE_RATE : SAMPLE_RATE,
					      .counter_id = RL_WATCH_ANY,
					      .quiet = true};

	if (!w->can_sample || now_ns < w->watch_next_ns)
		return;
	w->watch_reasons = reasons;
	if (watch_open(&w->instance, &options, &w->watch))
		w->watch_next_ns = now_ns + RETRY_NS;
}

/* ---- which alarms are about to go on */

/* Packets or bytes a second, as struct alarm_now has the rate. */
static double rate_on(const struct alarm_now *alarm)
{
	double rate = (double)alarm->phase[0].amount / (double)alarm->phase[0].period_ns *
		      (double)NS_PER_SECOND;

	return alarm->unit == RL_BITS ? rate / 8 : rate;
}

/* One that has just gone on is still of interest: its event waits for samples. */
static bool is_near(const struct alarm_now *alarm, uint64_t now_ns)
{
	if (alarm->on)
		return now_ns - alarm->since_ns < 2 * EXCERPT_WAIT_NS;
	return alarm->phase[0].period_ns && alarm->rate * ALARM_PART >= rate_on(alarm);
}

static const struct policy_alarm *alarm_of(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->alarm_count; i++)
		if (!strcmp(policy->alarms[i].name, name))
			return &policy->alarms[i];
	return NULL;
}

/* What was sampled of one that did not go on is forgotten. */
static bool alarms_find(struct sampling *s, uint64_t now_ns)
{
	struct watched *w = s->w;
	bool any = false;

	for (uint32_t i = 0; i < w->alarms.count; i++) {
		if (is_near(&w->alarms.alarm[i], now_ns))
			s->alarms[i] = alarm_of(&w->policy, w->alarms.alarm[i].name);
		else if (w->alarm_traits[i].packets)
			memset(&w->alarm_traits[i], 0, sizeof(w->alarm_traits[i]));
		any = any || s->alarms[i];
	}
	return any;
}

/* ---- */

static void samples_read(struct sampling *s, bool alarms)
{
	struct watched *w = s->w;
	bool sets = alarms && w->policy.set_count;

	if (sets)
		set_live_open(&w->instance, &s->sets);
	if (watch_poll(w->watch, on_sample, s))
		watched_samples_close(w);
	if (sets)
		set_live_close(&s->sets);
}

void watched_samples_poll(struct watched *w, uint64_t now_ns)
{
	struct sampling s = {.w = w};
	bool alarms = alarms_find(&s, now_ns);
	uint32_t wanted = reasons_wanted(alarms);

	if (w->drops.count || alarms)
		w->watch_until_ns = now_ns + LINGER_NS;
	if (w->watch && (now_ns > w->watch_until_ns || wanted & ~w->watch_reasons))
		watched_samples_close(w);
	if (!w->watch && now_ns <= w->watch_until_ns)
		samples_open(w, wanted, now_ns);
	if (w->watch)
		samples_read(&s, alarms);
}
