// SPDX-License-Identifier: GPL-2.0-only
/* Alarms, full sets, fleets, trials and the policy. */

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/watched.h"
#include "kernel/attach/trial_record.h"
#include "kernel/maps/fleet_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/sets.h"
#include "policy/alarm.h"

#define FULL_PAUSE_NS                                                                  \
	(10 * NS_PER_SECOND) /* a set that refused nothing for so long may be reported \
				again */

/* ---- alarms */

#define RATE_TEXT_MAX (NUMBER_TEXT_MAX + 32)

/* The rate of the last tenth, also as text. */
static void rate_note(struct event *event, const struct alarm_now *alarm, char text[RATE_TEXT_MAX])
{
	uint64_t rate = (uint64_t)alarm->rate;
	bool packets = alarm->unit == RL_PACKETS;

	event->has_rate = true;
	event->rate_unit = alarm->unit;
	event->rate.packets = packets ? rate : 0;
	event->rate.bytes = packets ? 0 : rate;
	snprintf(text, RATE_TEXT_MAX, ", at %s%s a second",
		 packets ? number_text(rate) : size_text(rate), packets ? " packets" : "");
}

struct alarm_teller {
	struct watched *w;
	const struct alarms_now *now;
};

static void alarm_tell(const struct alarm_now *alarm, void *arg)
{
	const struct alarm_teller *teller = arg;
	struct pending *pending =
		watched_event(teller->w, alarm->on ? EVENT_ALARM_ON : EVENT_ALARM_OFF);
	char rate[RATE_TEXT_MAX] = "";
	struct event *event;

	if (!pending)
		return;
	event = &pending->event;
	if (alarm->since_ns)
		event->time_ns = realtime_of(alarm->since_ns);
	snprintf(event->alarm, sizeof(event->alarm), "%s", alarm->name);
	if (!alarm->manual)
		rate_note(event, alarm, rate);
	if (!alarm->manual && alarm->on) { /* its packets are of interest */
		pending->alarm = (int)(alarm - teller->now->alarm);
		pending->due_ns = clock_ns(CLOCK_MONOTONIC) + EXCERPT_WAIT_NS;
	}
	event_text_set(event, "alarm %s is %s%s%s%s", alarm->name, alarm->on ? "on" : "off", rate,
		       *alarm->comment ? ": " : "", alarm->comment);
}

static void alarms_poll(struct watched *w)
{
	struct alarms_now now;
	struct alarm_teller teller = {w, &now};

	if (alarms_read(&w->instance, &now))
		return;
	if (!alarms_same_places(&w->alarms.before, &now))
		watched_alarms_changed(w);
	alarm_changes_tell(&w->alarms, &now, alarm_tell, &teller);
}

/* ---- sets */

static void full_tell(struct watched *w, const struct rl_set *set, uint64_t refused)
{
	struct pending *pending = watched_event(w, EVENT_SET_FULL);

	if (!pending)
		return;
	snprintf(pending->event.set, sizeof(pending->event.set), "%.31s", set->name);
	event_text_set(&pending->event, "set %.31s is full (max %s): %s not added", set->name,
		       number_text(set->max), number_text(refused));
}

static void sets_poll(struct watched *w, uint64_t now_ns)
{
	struct rl_set sets[RL_SETS_MAX] = {0};

	if (w->policy.set_count && sets_read(&w->instance, sets))
		return;
	for (int i = 0; i < RL_SETS_MAX; i++) {
		const struct rl_set *set = &sets[i];
		struct set_seen *seen = &w->sets[i];
		bool refuses = *set->name && w->sets_read && set->refused > seen->refused;

		if (refuses && !seen->full)
			full_tell(w, set, set->refused - seen->refused);
		if (refuses)
			seen->last_ns = now_ns;
		seen->full = refuses || (seen->full && now_ns - seen->last_ns < FULL_PAUSE_NS);
		seen->refused = set->refused;
	}
	w->sets_read = true;
}

/* ---- fleets */

static void fleet_poll(struct watched *w)
{
	struct rl_fleet_session session;
	struct pending *pending = NULL;
	bool shared, alive;

	if (fleet_session_read(&w->instance, &session))
		return;
	alive = fleet_session_is_alive(&session);
	shared = session.since_ns && session.shared && alive;
	if (w->fleet_read && shared != w->fleet_shared)
		pending = watched_event(w, shared ? EVENT_FLEET_JOINED : EVENT_FLEET_LOST);
	if (pending && shared)
		event_text_set(&pending->event, "fleet %s joined as %s: %" PRIu32 " members",
			       session.fleet, session.node, session.members);
	else if (pending)
		event_text_set(&pending->event,
			       "fleet lost: %s; limits are held by this machine alone",
			       !session.since_ns ? "its agent has left"
			       : !alive          ? "its agent does not answer"
						 : "Redis does not answer");
	w->fleet_shared = shared;
	w->fleet_read = true;
}

void watched_state_poll(struct watched *w, uint64_t now_ns)
{
	alarms_poll(w);
	sets_poll(w, now_ns);
	fleet_poll(w);
}

/* ---- trials: the record outlives its pin as long as it is open */

static void trial_poll(struct watched *w)
{
	struct trial_record record = {0};
	struct pending *pending;

	if (w->trial_fd < 0)
		w->trial_fd = trial_record_open(w->instance.path, false, &record);
	if (w->trial_fd < 0)
		return;
	if (!trial_record_read(w->trial_fd, &record) && record.state == TRIAL_RUNS)
		return;
	pending =
		record.state == TRIAL_UNDONE ? watched_command_event(w, EVENT_TRIAL_UNDONE) : NULL;
	if (pending)
		trial_undone_put(&pending->event, record.kind == TRIAL_LIMITER);
	close(w->trial_fd);
	w->trial_fd = -1;
}

/* ---- the policy */

#define READ_SHARE 10 /* of a CPU is spent on reading it at most: one part in so many */

static void alarm_seen(const struct policy_alarm *from, const struct policy_alarm *to, void *arg)
{
	(void)from;
	(void)to;
	(void)arg;
}

/* Puts `next` in place of what was known. A change of a set's members is none of the policy. */
static void policy_take_over(struct watched *w, struct policy *next, uint64_t written)
{
	struct policy before = w->policy;
	struct pending *pending = NULL;
	struct policy_difference d;
	size_t count = difference_of(&before, next, &d);

	w->policy = *next;
	watched_drops_policy_changed(w, &before);
	if (policy_alarms_diff(&before, next, alarm_seen, NULL))
		watched_alarms_changed(w);
	if (w->written && (count || written != w->written))
		pending = watched_command_event(w, EVENT_APPLY);
	if (pending)
		event_text_set(&pending->event, "%zu rule%s: %zu added, %zu changed, %zu removed",
			       next->count, plural(next->count), d.added, d.changed, d.removed);
	w->written = written;
	policy_clear(&before);
}

int watched_policy_poll(struct watched *w, uint64_t now_ns)
{
	struct rl_policy_header header;
	struct policy next = {0};
	uint64_t cpu_ns;
	int ret = policy_header_read(&w->instance, &header);

	trial_poll(w);
	if (ret)
		return 0; /* being detached, which the pins will show */
	if (header.generation == w->generation || now_ns < w->policy_next_ns)
		return 0;
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	ret = instance_policy_read(&w->instance, &next);
	if (ret)
		return ret == -ESTALE ? -ENODEV : ret;
	policy_take_over(w, &next, header.written);
	w->generation = header.generation;
	w->policy_next_ns = now_ns + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) * READ_SHARE;
	return 0;
}
