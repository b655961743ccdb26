// SPDX-License-Identifier: GPL-2.0-only
/* The rounds: which instances there are, then what has happened to each. */
#include "cli/events/event_sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/units.h"
#include "cli/events/watched.h"
#include "kernel/instance/open.h"
#include "kernel/instance/pins.h"

#define ROUND_MS 100
#define CALM_MS  250 /* while nothing drops */

struct follower {
	const struct target *target;
	struct receivers receivers;
	struct watched *list;
	bool begun; /* the first round is over: what comes now is new */
	bool waits; /* it was said that nothing is attached */
};

/* ---- instances that come and go */

/* An instance that cannot be opened yet is tried again in the next round. */
static void instance_add(struct follower *f, const struct pinned *at)
{
	struct pending *pending;
	struct watched *w;

	if (watched_open(at->path, at->device, at->hook, f->begun, &w))
		return;
	w->receivers = &f->receivers;
	w->seen = true;
	w->next = f->list;
	f->list = w;
	pending = f->begun ? watched_event(w, EVENT_ATTACH) : NULL;
	if (!pending)
		return;
	pending->event.time_ns = w->instance.info.since_ns;
	event_text_set(&pending->event, "attached, with %zu rule%s", w->policy.count,
		       plural(w->policy.count));
}

static int instances_find(struct follower *f)
{
	struct places places;
	int ret = places_list(f->target, &places);

	for (struct watched *w = f->list; w; w = w->next)
		w->seen = false;
	for (size_t i = 0; i < places.count; i++) {
		struct watched *w = f->list;

		while (w && strcmp(w->instance.path, places.items[i].path) != 0)
			w = w->next;
		if (w)
			w->seen = true;
		else
			instance_add(f, &places.items[i]);
	}
	places_clear(&places);
	if (!ret && !f->list && !f->waits)
		note("events: nothing is attached%s%s: waiting", f->target->device ? " to " : "",
		     f->target->device ? f->target->device : "");
	f->waits = !f->list;
	return ret;
}

/* ---- rounds */

static int instances_poll(struct follower *f)
{
	struct watched **at = &f->list;
	int ret = 0;

	while (!ret && *at) {
		struct watched *w = *at;
		struct pending *pending;
		struct rl_instance next;

		if (!w->seen)
			w->unpinned = true;
		ret = w->seen ? watched_poll(w) : -ENODEV;
		if (ret != -ENODEV) {
			at = &w->next;
			continue;
		}
		watched_journal_poll(w);
		watched_drops_end(w);
		pending = watched_event(w, EVENT_DETACH);
		/* Before the next one was attached, where it was noticed after that. */
		if (pending && instance_info_read(w->instance.path, &next) &&
		    next.since_ns != w->instance.info.since_ns &&
		    next.since_ns < pending->event.time_ns)
			pending->event.time_ns = next.since_ns - NS_PER_MS;
		if (pending)
			event_text_set(&pending->event, "%s",
				       if_nametoindex(w->instance.device)
					       ? "detached"
					       : "detached: the device is gone, or was renamed");
		*at = w->next;
		ret = watched_close(w);
	}
	return ret;
}

static int one_round(struct follower *f)
{
	int ret = instances_find(f);

	ret = ret ?: instances_poll(f);
	f->begun = true;
	for (size_t i = 0; !ret && i < f->receivers.count; i++) {
		const struct event_sink *sink = &f->receivers.sinks[i];

		ret = sink->turn ? sink->turn(sink->arg) : 0;
	}
	return ret;
}

/* True on a signal, or if the reader of standard output has closed it. */
static bool wait_ends(const struct follower *f, int signals)
{
	int wait_ms = CALM_MS;

	struct pollfd fds[] = {
		{.fd = signals, .events = POLLIN},
		{.fd = STDOUT_FILENO},
	};

	for (const struct watched *w = f->list; w; w = w->next)
		if (watched_is_busy(w))
			wait_ms = ROUND_MS;
	if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
		return true;
	return fds[0].revents || fds[1].revents & (POLLERR | POLLNVAL);
}

int events_follow(const struct target *target, const struct event_filter *filter,
		  const struct event_sink *sinks, size_t count)
{
	struct follower f = {
		.target = target,
		.receivers = {
			.filter = filter, .sinks = sinks, .count = count, .left = filter->count}};
	int signals = signals_open(), ret = 0;

	if (signals < 0)
		return fail("events: %s", strerror(errno));
	do
		ret = one_round(&f);
	while (!ret && f.receivers.left && !wait_ends(&f, signals));
	while (f.list) {
		struct watched *w = f.list;
		int rc;

		f.list = w->next;
		w->ends = true;
		watched_drops_poll(w, clock_ns(CLOCK_MONOTONIC));
		watched_drops_end(w);
		rc = watched_close(w);
		ret = ret ? ret : rc;
	}
	close(signals);
	return ret;
}
