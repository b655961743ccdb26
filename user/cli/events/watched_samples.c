// SPDX-License-Identifier: GPL-2.0-only
/* Samples of what rules drop, and of what alarms count. A place on the board of watchers is taken
 * only while a rule drops, or an alarm is about to go on: in peace packets find nobody watching. */
#include <string.h>

#include "base/units.h"
#include "cli/events/watched.h"
#include "policy/names.h"
#include "watch/traffic/rule_book.h"

#define SAMPLE_RATE    1000u               /* a second, of what is dropped, and of what passes */
#define KNOWN_NS_APART (NS_PER_SECOND)     /* between two looks at which sources are known */
#define LINGER_NS      (5 * NS_PER_SECOND) /* the place is kept for so long */
#define RETRY_NS       (5 * NS_PER_SECOND) /* after all places were taken */
#define ALARM_PART     2 /* of the rate at which an alarm goes on: one part in so many */

static uint32_t reasons_wanted(bool passed)
{
	uint32_t bits = 0;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		bits |= reason_rows[i].passes && !passed ? 0 : 1u << i;
	return bits;
}

static int on_sample(void *arg, const struct sampled *sampled)
{
	const struct rl_sample *packet = &sampled->packet;
	struct watched *w = arg;
	struct rule_drops *drops = watched_drops_find(w, packet->counter_id);
	bool raw_ip = w->instance.info.raw_ip;

	if (drops && !reason_rows[packet->reason % RL_REASON_COUNT].passes) {
		traits_add(&drops->traits, sampled, raw_ip);
		if (sample_has_addresses(packet) &&
		    known_then_has(&w->known[0], &w->instance, packet->src))
			traits_known_add(&drops->traits, sampled, raw_ip);
	}
	/* Alarms that have counted it and are of interest. */
	for (uint32_t i = 0; packet->time_ns >= w->alarms_ns && i < w->alarms.before.count; i++)
		if (w->alarms_near & packet->alarms & 1u << i)
			traits_add(&w->alarm_traits[i], sampled, raw_ip);
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

/* One that has just gone on is still of interest: its event waits for samples. */
static bool is_near(const struct alarm_now *alarm, uint64_t now_ns)
{
	const struct rl_alarm_phase *on = &alarm->phase[0];
	double rate; /* packets or bytes a second, as struct alarm_now has it */

	if (alarm->manual) /* it counts none */
		return false;
	if (alarm->on)
		return now_ns - alarm->since_ns < 2 * EXCERPT_WAIT_NS;
	if (!on->period_ns)
		return false;
	rate = (double)on->amount / (double)on->period_ns * (double)NS_PER_SECOND;
	return alarm->rate * ALARM_PART >= (alarm->unit == RL_BITS ? rate / 8 : rate);
}

/* ---- */

void watched_samples_poll(struct watched *w, uint64_t now_ns)
{
	struct known_then former;
	uint32_t wanted;

	/* While a rule drops, the sources that were known before it are those of interest: a second
	 * ago, for its first packets may have passed. */
	if (!w->drops.count && now_ns >= w->known_next_ns) {
		w->known_next_ns = now_ns + KNOWN_NS_APART;
		former = w->known[0];
		w->known[0] = w->known[1];
		w->known[1] = former;
		known_then_read(&w->instance, &w->known[1]);
	}
	/* Samples of an alarm that did not go on are forgotten. */
	w->alarms_near = 0;
	for (uint32_t i = 0; i < w->alarms.before.count; i++)
		if (is_near(&w->alarms.before.alarm[i], now_ns))
			w->alarms_near |= 1u << i;
		else if (w->alarm_traits[i].packets)
			memset(&w->alarm_traits[i], 0, sizeof(w->alarm_traits[i]));
	wanted = reasons_wanted(w->alarms_near);
	if (w->drops.count || w->alarms_near)
		w->watch_until_ns = now_ns + LINGER_NS;
	if (w->watch && (now_ns > w->watch_until_ns || wanted & ~w->watch_reasons))
		watched_samples_close(w);
	if (!w->watch && now_ns <= w->watch_until_ns)
		samples_open(w, wanted, now_ns);
	if (w->watch && watch_poll(w->watch, on_sample, w))
		watched_samples_close(w);
}
