// SPDX-License-Identifier: GPL-2.0-only
/* Samples of what rules drop. A place on the board of watchers is taken only while a rule drops, or
 * an alarm is about to go on: in peace packets find nobody watching. */
#include "names.h"
#include "units.h"
#include "watched.h"

#define SAMPLE_RATE 1000u               /* a second */
#define LINGER_NS   (5 * NS_PER_SECOND) /* the place is kept for so long */
#define RETRY_NS    (5 * NS_PER_SECOND) /* after all places were taken */

static uint32_t reasons_dropping(void)
{
	uint32_t bits = 0;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		bits |= reason_rows[i].passes ? 0 : 1u << i;
	return bits;
}

static int on_sample(void *arg, const struct sampled *sampled)
{
	struct watched *w = arg;
	struct rule_drops *drops = watched_drops_find(w, sampled->packet.counter_id);

	if (drops && !reason_rows[sampled->packet.reason % RL_REASON_COUNT].passes)
		traits_add(&drops->traits, sampled, w->instance.info.raw_ip);
	return 0;
}

void watched_samples_close(struct watched *w)
{
	watch_close(w->watch);
	w->watch = NULL;
}

static void samples_open(struct watched *w, uint64_t now_ns)
{
	const struct watch_options options = {.reasons = reasons_dropping(),
					      .rate = SAMPLE_RATE,
					      .counter_id = RL_WATCH_ANY,
					      .quiet = true};

	if (!w->can_sample || now_ns < w->watch_next_ns)
		return;
	if (watch_open(&w->instance, &options, &w->watch))
		w->watch_next_ns = now_ns + RETRY_NS;
}

void watched_samples_poll(struct watched *w, uint64_t now_ns)
{
	if (w->drops.count)
		w->watch_until_ns = now_ns + LINGER_NS;
	if (w->drops.count && !w->watch)
		samples_open(w, now_ns);
	if (w->watch && (now_ns > w->watch_until_ns || watch_poll(w->watch, on_sample, w)))
		watched_samples_close(w);
}
