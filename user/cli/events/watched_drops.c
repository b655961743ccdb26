// SPDX-License-Identifier: GPL-2.0-only
/* Rules that begin to drop, and that have stopped, and the same of malformed packets, which no rule
 * drops. While no packet is dropped for any reason, the counters of rules are not read. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/event_json.h"
#include "cli/events/watched.h"
#include "cli/output/output.h"
#include "kernel/state/stats.h"
#include "policy/names.h"

#define READ_SHARE 20 /* of a CPU is spent on reading counters at most: one part in so many */

void watched_drops_clear(struct watched *w)
{
	for (size_t i = 0; i < w->drops.count; i++)
		free(w->drops.rules[i]);
	free(w->drops.before);
	w->drops = (struct drops){0};
}

/* ---- the most within a second */

static uint64_t a_second(uint64_t amount, uint64_t span_ns)
{
	return (uint64_t)((double)amount * (double)NS_PER_SECOND / (double)span_ns);
}

static void peak_step(struct rule_drops *drops, uint64_t before_ns, uint64_t now_ns)
{
	uint64_t span_ns, packets;

	if (!drops->second_ns)
		drops->second_ns = before_ns;
	amount_add(&drops->second, &drops->delta);
	span_ns = now_ns - drops->second_ns;
	if (span_ns < NS_PER_SECOND)
		return;
	packets = a_second(drops->second.packets, span_ns);
	if (packets > drops->peak.packets)
		drops->peak = (struct rl_amount){.packets = packets,
						 .bytes = a_second(drops->second.bytes, span_ns)};
	drops->second = (struct rl_amount){0};
	drops->second_ns = now_ns;
}

/* ---- events */

static void malformed_put(struct event *event, const struct rule_drops *drops, uint64_t until_ns)
{
	snprintf(event->reason, sizeof(event->reason), "%s", reason_rows[RL_REASON_MALFORMED].text);
	event->has_rate = true;
	event->rate = rule_drops_rate(drops, until_ns);
}

static void begun_tell(struct watched *w, const struct rule_drops *drops, uint64_t now_ns)
{
	struct pending *pending = watched_event(w, EVENT_DROPS_BEGIN);

	if (!pending)
		return;
	pending->event.time_ns = realtime_of(drops->onset.first_ns);
	if (drops == &w->drops.malformed) {
		malformed_put(&pending->event, drops, now_ns);
		event_text_set(&pending->event, "malformed packets come, and are dropped");
		return;
	}
	pending->counter_id = drops->counter_id;
	pending->due_ns = now_ns + EXCERPT_WAIT_NS;
	watched_rule_put(w, &pending->event, rule_counted(&w->policy, drops->counter_id));
	event_text_set(&pending->event, "a rule begins to drop: %.900s", pending->event.rule);
}

/* at_last: with its last drop; else after the pause that followed. */
static void ended_tell(struct watched *w, const struct rule_drops *drops, bool at_last)
{
	struct pending *pending = watched_event(w, EVENT_DROPS_END);
	const char *packets, *time = wait_text(drops->onset.last_ns - drops->base_ns);
	struct event *event;

	if (!pending)
		return;
	event = &pending->event;
	if (at_last)
		event->time_ns = realtime_of(drops->onset.last_ns);
	event->has_dropped = true;
	event->dropped = amount_less(drops->last, &drops->base);
	packets = number_text(event->dropped.packets);
	if (drops == &w->drops.malformed) {
		malformed_put(event, drops, drops->onset.last_ns);
		event_text_set(event, "no malformed packets come any more, after %s in %s", packets,
			       time);
		return;
	}
	watched_rule_put(w, event, rule_counted(&w->policy, drops->counter_id));
	event->has_rate = true;
	event->rate = rule_drops_rate(drops, drops->onset.last_ns);
	event->last_ns = realtime_of(drops->onset.last_ns);
	event->peak = drops->peak.packets > event->rate.packets ? drops->peak : event->rate;
	event->excerpt = traits_json(&drops->traits, event->rate.packets);
	event_text_set(event, "a rule %s, after %s packets (%s) in %s: %.800s",
		       drops->gone ? "that dropped was removed"
		       : w->ends   ? "drops, and is watched no longer"
				   : "has stopped dropping",
		       packets, size_text(event->dropped.bytes), time, event->rule);
}

void watched_drops_end(struct watched *w)
{
	if (w->drops.malformed.onset.on)
		ended_tell(w, &w->drops.malformed, true);
	for (size_t i = 0; i < w->drops.count; i++)
		if (w->drops.rules[i]->onset.on)
			ended_tell(w, w->drops.rules[i], true);
}

/* ---- readings */

/* The rule at `i` of the policy has dropped. */
static void dropped_note(struct watched *w, size_t i, const struct rl_amount *now)
{
	struct drops *d = &w->drops;
	uint32_t counter_id = w->policy.rules[i].counter_id;
	struct rule_drops *drops = watched_drops_find(w, counter_id);

	if (!drops && d->count == WATCHED_DROPS) {
		quota_lose(&w->quota, EVENT_DROPS_BEGIN, 1);
		return;
	}
	if (!drops) {
		drops = xcalloc(1, sizeof(*drops));
		drops->counter_id = counter_id;
		drops->base = d->before[i].dropped;
		drops->base_ns = d->before_ns;
		d->rules[d->count++] = drops;
	}
	drops->delta = amount_less(*now, &d->before[i].dropped);
	drops->last = *now;
}

static void rules_step(struct watched *w, uint64_t before_ns, uint64_t now_ns)
{
	struct drops *d = &w->drops;

	for (size_t i = d->count; i-- > 0;) {
		struct rule_drops *drops = d->rules[i];
		enum onset_change change =
			onset_step(&drops->onset, drops->delta.packets, before_ns, now_ns);

		peak_step(drops, before_ns, now_ns);
		if (change == ONSET_BEGUN)
			begun_tell(w, drops, now_ns);
		if (change == ONSET_ENDED || (drops->gone && drops->onset.on))
			ended_tell(w, drops, false);
		drops->delta = (struct rl_amount){0};
		if (drops->gone || onset_is_idle(&drops->onset)) {
			free(drops);
			d->rules[i] = d->rules[--d->count];
		}
	}
}

static struct rule_counters *counters_now(const struct watched *w)
{
	struct rule_counters *now = xcalloc(w->policy.count + 1, sizeof(*now));

	if (counters_read(&w->instance, &w->policy, now)) {
		free(now);
		return NULL;
	}
	return now;
}

/* Counters that are not known are those of no rule. */
static void before_set(struct drops *d, struct rule_counters *now, size_t count, uint64_t now_ns)
{
	free(d->before);
	d->before = now;
	d->before_count = now ? count : 0;
	d->before_ns = now_ns;
}

static void counters_compare(struct watched *w, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), before_ns = w->drops.before_ns;
	struct rule_counters *now = counters_now(w);
	struct drops *d = &w->drops;

	if (!now)
		return; /* being detached */
	for (size_t i = 0; i < w->policy.count && i < d->before_count; i++)
		if (now[i].dropped.packets > d->before[i].dropped.packets)
			dropped_note(w, i, &now[i].dropped);
	before_set(d, now, w->policy.count, now_ns);
	rules_step(w, before_ns, now_ns);
	d->next_ns = now_ns + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) * READ_SHARE;
}

/* Counters of other rules: what was dropped since the last reading is not reported. */
void watched_drops_policy_changed(struct watched *w, const struct policy *before)
{
	struct drops *d = &w->drops;
	bool same = before->count == w->policy.count;

	for (size_t i = 0; same && i < before->count; i++)
		same = before->rules[i].counter_id == w->policy.rules[i].counter_id;
	if (d->before && same)
		return;
	before_set(d, counters_now(w), w->policy.count, clock_ns(CLOCK_MONOTONIC));
	for (size_t i = 0; i < d->count; i++)
		d->rules[i]->gone = !rule_counted(&w->policy, d->rules[i]->counter_id);
}

static void malformed_step(struct watched *w, const struct rl_amount *now, uint64_t now_ns)
{
	struct rule_drops *drops = &w->drops.malformed;
	uint64_t before_ns = w->drops.malformed_ns;
	struct rl_amount delta = amount_less(*now, &drops->last);
	enum onset_change change;

	if (onset_is_idle(&drops->onset)) {
		drops->base = drops->last;
		drops->base_ns = before_ns;
	}
	drops->last = *now;
	w->drops.malformed_ns = now_ns;
	if (!w->drops.read)
		return;
	change = onset_step(&drops->onset, delta.packets, before_ns, now_ns);
	if (change == ONSET_BEGUN)
		begun_tell(w, drops, now_ns);
	if (change == ONSET_ENDED)
		ended_tell(w, drops, false);
}

int watched_drops_poll(struct watched *w, uint64_t now_ns)
{
	struct rl_amount reasons[RL_REASON_COUNT];
	struct drops *d = &w->drops;
	uint64_t total = 0;

	if (now_ns < d->next_ns)
		return 0;
	if (instance_reasons_read(&w->instance, reasons))
		return -EIO;
	for (int i = 0; i < RL_REASON_COUNT; i++)
		total += reason_rows[i].passes ? 0 : reasons[i].packets;
	malformed_step(w, &reasons[RL_REASON_MALFORMED], now_ns);
	if (d->read && (total != d->total || d->count))
		counters_compare(w, now_ns);
	else
		d->before_ns = now_ns;
	d->total = total;
	d->read = true;
	return 0;
}
