// SPDX-License-Identifier: GPL-2.0-only
/* Opens an instance to look for its events, and keeps the queue of those that wait. */
#include "watched.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "event_json.h"
#include "find.h"
#include "fleet_maps.h"
#include "hook_names.h"
#include "journal.h"
#include "map.h"
#include "open.h"
#include "output.h"
#include "pins.h"
#include "program.h"
#include "units.h"

#define LOOK_NS NS_PER_SECOND /* whether the program is still on the device */

uint64_t realtime_of(uint64_t monotonic_ns)
{
	return clock_ns(CLOCK_REALTIME) + monotonic_ns - clock_ns(CLOCK_MONOTONIC);
}

/* ---- the queue */

static struct pending *queue_at(const struct watched *w, size_t n)
{
	return w->queue[(w->queue_first + n) % WATCHED_QUEUE];
}

static void event_begin(const struct watched *w, enum event_kind kind, struct event *out)
{
	out->kind = kind;
	out->time_ns = clock_ns(CLOCK_REALTIME);
	out->hook = (uint8_t)w->instance.info.hook;
	memcpy(out->device, w->instance.device, sizeof(out->device));
}

struct pending *watched_event(struct watched *w, enum event_kind kind)
{
	struct pending *pending;

	if (!quota_take(&w->quota, kind, clock_ns(CLOCK_MONOTONIC)))
		return NULL;
	if (w->queue_count == WATCHED_QUEUE) {
		quota_lose(&w->quota, kind, 1);
		return NULL;
	}
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		out_of_memory();
	event_begin(w, kind, &pending->event);
	pending->counter_id = RL_WATCH_ANY;
	pending->alarm = -1;
	w->queue[(w->queue_first + w->queue_count++) % WATCHED_QUEUE] = pending;
	return pending;
}

void event_text_set(struct event *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(event->text, sizeof(event->text), format, args);
	va_end(args);
}

const struct rule *watched_rule(const struct watched *w, uint32_t counter_id)
{
	policy_for_each (&w->policy, rule)
		if (rule->counter_id == counter_id)
			return rule;
	return NULL;
}

void watched_rule_put(const struct watched *w, struct event *event, const struct rule *rule)
{
	if (rule)
		rule_format(event->rule, rule, &w->ctx);
}

/* The command that attached or detached it has written that itself. */
static bool is_noted(const struct watched *w, const struct event *event)
{
	return event->kind == EVENT_ATTACH || (event->kind == EVENT_DETACH && w->unpinned);
}

static int event_tell(struct watched *w, const struct event *event)
{
	struct json_object *object = event_json(event);
	char *line = json_line(object);
	int ret = 0;

	if (w->journal_fd >= 0 && !is_noted(w, event))
		journal_append(w->instance.path, line);
	for (size_t i = 0; !ret && i < w->sink_count; i++)
		ret = w->sinks[i].tell(w->sinks[i].arg, line, object);
	free(line);
	json_object_put(object);
	return ret;
}

/* What is known by now of the rule that it is of, or of the alarm. */
static void pending_complete(const struct watched *w, struct pending *pending)
{
	const struct rule_drops *drops = watched_drops_find(w, pending->counter_id);
	struct event *event = &pending->event;

	if (pending->alarm >= 0) {
		traits_excerpt(&w->alarm_traits[pending->alarm], event->rate.packets,
			       &event->excerpt);
	} else if (drops && !event->has_rate && event->kind != EVENT_BAN_END) {
		event->has_rate = true;
		event->rate = rule_drops_rate(drops, clock_ns(CLOCK_MONOTONIC));
		traits_excerpt(&drops->traits, event->rate.packets, &event->excerpt);
	}
}

/* In the order in which they happened. */
static int queue_tell(struct watched *w, uint64_t now_ns)
{
	struct event lost = {0};
	int ret = 0;

	while (!ret && w->queue_count && queue_at(w, 0)->due_ns <= now_ns) {
		struct pending *pending = queue_at(w, 0);

		pending_complete(w, pending);
		ret = event_tell(w, &pending->event);
		free(pending);
		w->queue_first = (w->queue_first + 1) % WATCHED_QUEUE;
		w->queue_count--;
	}
	event_begin(w, EVENT_LOST, &lost);
	if (!ret && quota_tell(&w->quota, now_ns, now_ns == UINT64_MAX, &lost))
		ret = event_tell(w, &lost);
	return ret;
}

/* ---- */

/* A reader may not write to the board of watchers: then there are no samples. */
static int instance_open_any(const char *path, const char *device, enum rl_hook hook,
			     struct watched *w)
{
	int ret = instance_open_at(path, device, hook, USE_SHARED, &w->instance);

	w->can_sample = !ret;
	if (ret == -EACCES || ret == -EPERM)
		ret = instance_open_at(path, device, hook, USE_READ, &w->instance);
	return ret;
}

int watched_open(const char *path, const char *device, enum rl_hook hook, struct watched **out)
{
	struct watched *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		out_of_memory();
	ret = instance_open_any(path, device, hook, w);
	if (ret) {
		free(w);
		return ret;
	}
	instance_context(&w->instance, &w->ctx);
	w->trial_fd = -1;
	w->journal_fd = journal_lock(path);
	ret = watched_poll(w); /* what is there is known */
	if (ret) {
		watched_close(w);
		return ret;
	}
	*out = w;
	return 0;
}

int watched_close(struct watched *w)
{
	int ret = queue_tell(w, UINT64_MAX);

	while (w->queue_count)
		free(queue_at(w, --w->queue_count));
	watched_samples_close(w);
	watched_drops_clear(w);
	watched_bans_clear(w);
	policy_clear(&w->policy);
	if (w->trial_fd >= 0)
		close(w->trial_fd);
	if (w->journal_fd >= 0)
		close(w->journal_fd);
	instance_close(&w->instance);
	free(w);
	return ret;
}

/* Has it been detached, or its device removed? */
static bool is_gone(struct watched *w, uint64_t now_ns)
{
	struct device_program program;

	w->unpinned = instance_pins_check(&w->instance) == -ENOENT;
	if (w->unpinned)
		return true;
	if (now_ns - w->looked_ns < LOOK_NS)
		return false;
	w->looked_ns = now_ns;
	if (w->journal_fd < 0) /* the follower that wrote it may have ended */
		w->journal_fd = journal_lock(w->instance.path);
	return instance_program_find(&w->instance, &program) == -ENOENT;
}

int watched_poll(struct watched *w)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int ret = is_gone(w, now_ns) ? -ENODEV : 0;

	if (!ret)
		ret = watched_policy_poll(w, now_ns);
	if (!ret)
		ret = watched_drops_poll(w, now_ns);
	if (!ret)
		watched_samples_poll(w, now_ns);
	if (!ret)
		ret = watched_bans_poll(w, now_ns);
	if (!ret)
		ret = watched_state_poll(w, now_ns);
	return ret ? ret : queue_tell(w, now_ns);
}
