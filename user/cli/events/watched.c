// SPDX-License-Identifier: GPL-2.0-only
/* The queue of events that wait, and how they are reported. */
#include "cli/events/watched.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/events/event_sink.h"
#include "cli/events/event_json.h"
#include "cli/events/journal.h"
#include "cli/output/output.h"

#define COMMAND_NS (2 * NS_PER_SECOND) /* until a command has written what it did */
#define AHEAD_NS \
	(10 * NS_PER_SECOND) /* a line before the event is seen: large policies take time */

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
	pending = xcalloc(1, sizeof(*pending));
	event_begin(w, kind, &pending->event);
	pending->counter_id = RL_WATCH_ANY;
	pending->alarm = -1;
	w->queue[(w->queue_first + w->queue_count++) % WATCHED_QUEUE] = pending;
	return pending;
}

void watched_rule_put(const struct watched *w, struct event *event, const struct rule *rule)
{
	if (rule)
		rule_format(event->rule, rule, &w->ctx);
}

/* ---- rules that drop */

struct rule_drops *watched_drops_find(const struct watched *w, uint32_t counter_id)
{
	for (size_t i = 0; i < w->drops.count; i++)
		if (w->drops.rules[i]->counter_id == counter_id)
			return w->drops.rules[i];
	return NULL;
}

struct rl_amount amount_less(struct rl_amount from, const struct rl_amount *less)
{
	from.packets = from.packets > less->packets ? from.packets - less->packets : 0;
	from.bytes = from.bytes > less->bytes ? from.bytes - less->bytes : 0;
	return from;
}

struct rl_amount rule_drops_rate(const struct rule_drops *drops, uint64_t until_ns)
{
	struct rl_amount sum = amount_less(drops->last, &drops->base);
	double seconds = (double)(until_ns - drops->base_ns) / (double)NS_PER_SECOND;

	if (until_ns <= drops->base_ns)
		return (struct rl_amount){0};
	return (struct rl_amount){.packets = (uint64_t)((double)sum.packets / seconds),
				  .bytes = (uint64_t)((double)sum.bytes / seconds)};
}

/* ---- reporting */

static int line_tell(const struct watched *w, const char *line, struct json_object *object)
{
	struct receivers *receivers = w->receivers;
	int ret = 0;

	if (!receivers || !receivers->left ||
	    !event_filter_takes(receivers->filter, object, UINT64_MAX))
		return 0;
	receivers->left -= receivers->left < UINT32_MAX;
	for (size_t i = 0; !ret && i < receivers->count; i++)
		ret = receivers->sinks[i].tell(receivers->sinks[i].arg, line, object);
	return ret;
}

static int event_tell(struct watched *w, const struct event *event)
{
	struct json_object *object = event_json(event);
	char *line = json_line(object);
	/* The command that attached or detached it has written that itself. */
	bool noted = event->kind == EVENT_ATTACH || (event->kind == EVENT_DETACH && w->unpinned);
	int ret;

	if (w->journal_fd >= 0 && !noted)
		journal_append(w->instance.path, event->kind, line);
	ret = line_tell(w, line, object);
	free(line);
	json_object_put(object);
	return ret;
}

static void pending_free(struct pending *pending)
{
	json_object_put(pending->event.excerpt);
	free(pending);
}

/* Adds what is known by now of its rule, or of its alarm. */
static void pending_complete(const struct watched *w, struct pending *pending)
{
	const struct rule_drops *drops = watched_drops_find(w, pending->counter_id);
	struct event *event = &pending->event;

	if (pending->alarm >= 0) {
		event->excerpt = traits_json(&w->alarm_traits[pending->alarm], event->rate.packets);
	} else if (drops && !event->has_rate && event->kind != EVENT_BAN_END) {
		event->has_rate = true;
		event->rate = rule_drops_rate(drops, clock_ns(CLOCK_MONOTONIC));
		event->excerpt = traits_json(&drops->traits, event->rate.packets);
	}
}

void watched_alarms_changed(struct watched *w)
{
	for (size_t i = 0; i < w->queue_count; i++) {
		struct pending *pending = queue_at(w, i);

		if (pending->alarm < 0)
			continue;
		pending_complete(w, pending);
		pending->alarm = -1;
	}
	memset(w->alarm_traits, 0, sizeof(w->alarm_traits));
	w->alarms_ns = clock_ns(CLOCK_MONOTONIC);
}

struct pending *watched_command_event(struct watched *w, enum event_kind kind)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool written = w->written_ns[kind] && now_ns - w->written_ns[kind] < AHEAD_NS;
	struct pending *pending = written ? NULL : watched_event(w, kind);

	w->written_ns[kind] = 0;
	if (pending)
		pending->due_ns = now_ns + COMMAND_NS;
	return pending;
}

/* Those that nobody sees but the command, or not as well. Only commands name a user: other lines
 * are of followers. The event that waits for it need not be reported; if there is none, it comes
 * later. */
static int written_tell(const char *line, struct json_object *object, void *arg)
{
	int kind = *event_member(object, "user") ? event_kind_of(object) : -1;
	struct watched *w = arg;
	size_t i = 0;

	if (kind != EVENT_APPLY && kind != EVENT_TRIAL_UNDONE && kind != EVENT_SET_ADD &&
	    kind != EVENT_SET_DEL)
		return 0;
	while (i < w->queue_count &&
	       ((int)queue_at(w, i)->event.kind != kind || queue_at(w, i)->forgotten))
		i++;
	if (i < w->queue_count) {
		queue_at(w, i)->forgotten = true;
		queue_at(w, i)->due_ns = 0;
	} else {
		w->written_ns[kind] = clock_ns(CLOCK_MONOTONIC);
	}
	return line_tell(w, line, object);
}

int watched_journal_poll(struct watched *w)
{
	/* Those of an instance that is only being opened come in the next round. */
	return w->receivers ? journal_tail_poll(&w->tail, w->instance.path, written_tell, w) : 0;
}

/* In the order in which they happened. */
int watched_tell(struct watched *w, uint64_t now_ns)
{
	struct event lost = {0};
	int ret = 0;

	while (!ret && w->queue_count && queue_at(w, 0)->due_ns <= now_ns) {
		struct pending *pending = queue_at(w, 0);

		if (!pending->forgotten) {
			pending_complete(w, pending);
			ret = event_tell(w, &pending->event);
		}
		pending_free(pending);
		w->queue_first = (w->queue_first + 1) % WATCHED_QUEUE;
		w->queue_count--;
	}
	event_begin(w, EVENT_LOST, &lost);
	if (!ret && quota_tell(&w->quota, now_ns, now_ns == UINT64_MAX, &lost))
		ret = event_tell(w, &lost);
	return ret;
}

void watched_forget(struct watched *w)
{
	while (w->queue_count)
		pending_free(queue_at(w, --w->queue_count));
}
