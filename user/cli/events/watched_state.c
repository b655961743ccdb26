// SPDX-License-Identifier: GPL-2.0-only
/* Alarms, full sets and fleets. */
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "fleet_maps.h"
#include "sets.h"
#include "text.h"
#include "units.h"
#include "watched_state.h"

#define FULL_PAUSE_NS                                                              \
	(10 * NS_PER_SECOND) /* a set that refused nothing for so long may be told \
				again */

/* ---- alarms */

static const struct alarm_now *alarm_find(const struct alarms_now *alarms, const char *name)
{
	for (uint32_t i = 0; i < alarms->count; i++)
		if (!strcmp(alarms->alarm[i].name, name))
			return &alarms->alarm[i];
	return NULL;
}

static void alarm_tell(struct watched *w, const struct alarm_now *alarm, int number)
{
	struct pending *pending = watched_event(w, alarm->on ? EVENT_ALARM_ON : EVENT_ALARM_OFF);
	uint64_t rate = (uint64_t)alarm->rate;
	bool packets = alarm->unit == RL_PACKETS;
	char number_text[NUMBER_TEXT_MAX];
	struct event *event;

	if (!pending)
		return;
	event = &pending->event;
	if (alarm->since_ns)
		event->time_ns = realtime_of(alarm->since_ns);
	snprintf(event->alarm, sizeof(event->alarm), "%s", alarm->name);
	event->has_rate = true;
	event->rate.packets = packets ? rate : 0;
	event->rate.bytes = packets ? 0 : rate;
	pending->alarm = alarm->on ? number : -1;
	pending->due_ns = alarm->on ? clock_ns(CLOCK_MONOTONIC) + EXCERPT_WAIT_NS : 0;
	if (packets)
		number_print(number_text, rate);
	else
		size_print(number_text, rate);
	event_text_set(event, "alarm %s is %s, at %s%s a second%s%s", alarm->name,
		       alarm->on ? "on" : "off", number_text, packets ? " packets" : "",
		       *alarm->comment ? ": " : "", alarm->comment);
}

static void alarms_poll(struct watched *w)
{
	struct alarms_now now;

	if (alarms_read(&w->instance, &now))
		return;
	for (uint32_t i = 0; w->alarms_read && i < now.count; i++) {
		const struct alarm_now *before = alarm_find(&w->alarms, now.alarm[i].name);

		if (before ? before->on != now.alarm[i].on : now.alarm[i].on)
			alarm_tell(w, &now.alarm[i], (int)i);
	}
	w->alarms = now;
	w->alarms_read = true;
}

/* ---- sets */

static void full_tell(struct watched *w, const struct rl_set *set, uint64_t refused)
{
	struct pending *pending = watched_event(w, EVENT_SET_FULL);
	char number[NUMBER_TEXT_MAX], max[NUMBER_TEXT_MAX];

	if (!pending)
		return;
	snprintf(pending->event.set, sizeof(pending->event.set), "%.31s", set->name);
	number_print(number, refused);
	number_print(max, set->max);
	event_text_set(&pending->event, "set %.31s is full (max %s): %s not added", set->name, max,
		       number);
}

static void set_poll(struct watched *w, struct set_seen *seen, const struct rl_set *set,
		     uint64_t now_ns)
{
	bool refuses = *set->name && w->sets_read && set->refused > seen->refused;

	if (refuses && !seen->full)
		full_tell(w, set, set->refused - seen->refused);
	if (refuses)
		seen->last_ns = now_ns;
	seen->full = refuses || (seen->full && now_ns - seen->last_ns < FULL_PAUSE_NS);
	seen->refused = set->refused;
}

static void sets_poll(struct watched *w, uint64_t now_ns)
{
	struct rl_set sets[RL_SETS_MAX] = {0};

	if (w->policy.set_count && sets_read(&w->instance, sets))
		return;
	for (int i = 0; i < RL_SETS_MAX; i++)
		set_poll(w, &w->sets[i], &sets[i], now_ns);
	w->sets_read = true;
}

/* ---- fleets */

static void fleet_tell(struct watched *w, const struct rl_fleet_session *session, bool joined)
{
	struct pending *pending = watched_event(w, joined ? EVENT_FLEET_JOINED : EVENT_FLEET_LOST);
	const char *why = !session->since_ns                 ? "its agent has left"
			  : !fleet_session_is_alive(session) ? "its agent does not answer"
							     : "Redis does not answer";

	if (pending && joined)
		event_text_set(&pending->event, "fleet %s joined as %s: %" PRIu32 " members",
			       session->fleet, session->node, session->members);
	else if (pending)
		event_text_set(&pending->event,
			       "fleet lost: %s; limits are held by this machine alone", why);
}

static void fleet_poll(struct watched *w)
{
	struct rl_fleet_session session;
	bool shared;

	if (fleet_session_read(&w->instance, &session))
		return;
	shared = session.since_ns && session.shared && fleet_session_is_alive(&session);
	if (w->fleet_read && shared != w->fleet_shared)
		fleet_tell(w, &session, shared);
	w->fleet_shared = shared;
	w->fleet_read = true;
}

void watched_state_poll(struct watched *w, uint64_t now_ns)
{
	alarms_poll(w);
	sets_poll(w, now_ns);
	fleet_poll(w);
}
