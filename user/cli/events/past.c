// SPDX-License-Identifier: GPL-2.0-only
/* Events of the journals, and beside them those that the maps of the kernel prove and no journal
 * has. */
#include "cli/events/event_sink.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/event_json.h"
#include "cli/events/journal.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/alarms.h"
#include "kernel/state/source.h"

#define BANS_MAX 1000u            /* of an instance that are shown */
#define SAME_NS  (50 * NS_PER_MS) /* a ban's end that was computed twice differs by less */

/* ---- the list */

static struct past_event past_event_of(struct json_object *object)
{
	return (struct past_event){.object = object,
				   .kind = event_kind_of(object),
				   .time_ns = event_time_of(object, "time"),
				   .until_ns = event_time_of(object, "until")};
}

static void past_add(struct past *past, struct past_event event)
{
	if (past->count == past->room) {
		past->room = past->room ? 2 * past->room : 256;
		past->items = xreallocarray(past->items, past->room, sizeof(*past->items));
	}
	event.number = past->count;
	past->items[past->count++] = event;
}

static void journal_event(struct json_object *object, void *arg)
{
	struct past_event event = past_event_of(object);
	struct past *past = arg;

	/* One that bans are compared with stays until then. */
	if (event_filter_takes(past->filter, object, event.time_ns) ||
	    event.until_ns > past->now_ns) {
		json_object_get(object);
		past_add(past, event);
	}
}

static bool same_text(struct json_object *a, struct json_object *b, const char *key)
{
	return !strcmp(event_member(a, key), event_member(b, key));
}

static bool is_near(uint64_t x, uint64_t y)
{
	return (x > y ? x - y : y - x) <= SAME_NS;
}

/* Does a journal have it? A ban is known by its end, others by the time. */
static bool is_known(const struct past *past, const struct past_event *event)
{
	for (size_t i = 0; i < past->journal; i++) {
		const struct past_event *other = &past->items[i];

		if (event->kind == other->kind &&
		    (event->until_ns ? is_near(event->until_ns, other->until_ns)
				     : is_near(event->time_ns, other->time_ns)) &&
		    same_text(event->object, other->object, "device") &&
		    same_text(event->object, other->object, "hook") &&
		    same_text(event->object, other->object, "key") &&
		    same_text(event->object, other->object, "alarm"))
			return true;
	}
	return false;
}

static void event_add(struct past *past, const struct event *event)
{
	struct past_event one = past_event_of(event_json(event));

	if (is_known(past, &one))
		json_object_put(one.object);
	else
		past_add(past, one);
}

/* ---- what the maps show */

static struct event event_of(const struct instance *instance, enum event_kind kind)
{
	struct event event = {.kind = kind, .hook = (uint8_t)instance->info.hook};

	memcpy(event.device, instance->device, sizeof(event.device));
	return event;
}

static void alarms_add(struct past *past, const struct instance *instance)
{
	uint64_t offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	struct alarms_now alarms;

	if (alarms_read(instance, &alarms))
		return;
	for (uint32_t i = 0; i < alarms.count; i++) {
		const struct alarm_now *alarm = &alarms.alarm[i];
		struct event event = event_of(instance, EVENT_ALARM_ON);

		if (!alarm->on)
			continue;
		event.time_ns = alarm->since_ns + offset_ns;
		snprintf(event.alarm, sizeof(event.alarm), "%s", alarm->name);
		event_text_set(&event, "alarm %s is on", alarm->name);
		event_add(past, &event);
	}
}

/* The rule says when it began. A source that is banned from everything may have been banned by
 * several: then it is said as of now. */
static void ban_add(struct past *past, const struct instance *instance,
		    const struct source_entry *entry, const struct policy_context *ctx)
{
	struct event event = event_of(instance, EVENT_BAN_BEGIN);

	event.time_ns = clock_ns(CLOCK_REALTIME);
	event.until_ns = event.time_ns + entry->ban_ns;
	if (entry->rule && entry->rule->limit.ban_ns > entry->ban_ns)
		event.time_ns -= entry->rule->limit.ban_ns - entry->ban_ns;
	if (entry->rule)
		rule_format(event.rule, entry->rule, ctx);
	key_print(event.key, &entry->key, entry->rule);
	event_text_set(&event, "%s is banned for %s more%s%.700s", event.key,
		       wait_text(entry->ban_ns), *event.rule ? ": " : " from everything",
		       event.rule);
	event_add(past, &event);
}

static int bans_add(struct past *past, const struct instance *instance)
{
	struct event lost = event_of(instance, EVENT_LOST);
	struct source_entry *entries = NULL;
	struct policy policy = {0};
	struct policy_context ctx;
	size_t count = 0;
	int ret = instance_policy_read(instance, &policy);

	ret = ret ?: instance_bans_read(instance, &policy, &entries, &count);
	instance_context(instance, &ctx);
	for (size_t i = 0; !ret && i < count && i < BANS_MAX; i++)
		ban_add(past, instance, &entries[i], &ctx);
	if (!ret && count > BANS_MAX) {
		lost.time_ns = clock_ns(CLOCK_REALTIME);
		lost.count = lost.of[EVENT_BAN_BEGIN] = count - BANS_MAX;
		event_text_set(
			&lost,
			"%zu more bans are in force: `rlctl source list --banned -i %s` lists them",
			count - BANS_MAX, instance->device);
		event_add(past, &lost);
	}
	free(entries);
	policy_clear(&policy);
	return ret;
}

static int visit(struct instance *instance, void *arg)
{
	struct event attached = event_of(instance, EVENT_ATTACH);
	struct past *past = arg;

	attached.time_ns = instance->info.since_ns;
	event_text_set(&attached, "attached");
	event_add(past, &attached);
	alarms_add(past, instance);
	return past->filter->bans ? bans_add(past, instance) : 0;
}

/* ---- */

static int past_compare(const void *a, const void *b)
{
	const struct past_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

void past_clear(struct past *past)
{
	for (size_t i = 0; i < past->count; i++)
		json_object_put(past->items[i].object);
	free(past->items);
	*past = (struct past){0};
}

int past_read(const struct target *target, const struct event_filter *filter, struct past *out)
{
	size_t count = 0, skipped;
	int ret;

	*out = (struct past){.filter = filter, .now_ns = clock_ns(CLOCK_REALTIME)};
	ret = journal_read(target, journal_event, out);
	out->journal = out->count;
	ret = ret ?: instance_for_each(target, visit, out);
	if (!out->count)
		return ret;
	qsort(out->items, out->count, sizeof(*out->items), past_compare);
	for (size_t i = 0; i < out->count; i++) {
		struct past_event *item = &out->items[i];
		/* A follower that was killed as it moved a journal has left both. */
		bool again = count && out->items[count - 1].time_ns == item->time_ns &&
			     json_object_equal(out->items[count - 1].object, item->object);

		if (event_filter_takes(filter, item->object, item->time_ns) && !again)
			out->items[count++] = *item;
		else
			json_object_put(item->object);
	}
	skipped = count > filter->count ? count - filter->count : 0;
	for (size_t i = 0; i < skipped; i++)
		json_object_put(out->items[i].object);
	out->count = count - skipped;
	memmove(out->items, out->items + skipped, out->count * sizeof(*out->items));
	return ret;
}

/* Shows the events that are known even if an instance could not be read. */
int events_past(const struct target *target, const struct event_filter *filter,
		const struct event_sink *sink)
{
	struct past past;
	int told = 0, ret = past_read(target, filter, &past);

	if (!ret && !past.count)
		note("events: nothing is known%s%s: `rlctl events --follow` waits for what comes",
		     target->device ? " of " : "", target->device ? target->device : "");
	for (size_t i = 0; !told && i < past.count; i++) {
		char *line = json_line(past.items[i].object);

		told = sink->tell(sink->arg, line, past.items[i].object);
		free(line);
	}
	past_clear(&past);
	return ret ? ret : told;
}
