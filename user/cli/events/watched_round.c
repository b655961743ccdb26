// SPDX-License-Identifier: GPL-2.0-only
/* Opens an instance to look for its events, and looks in each round. */
#include "cli/events/watched.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/events/journal.h"
#include "cli/output/output.h"
#include "kernel/attach/program.h"
#include "kernel/instance/find.h"
#include "kernel/instance/open.h"
#include "kernel/maps/fleet_maps.h"
#include "kernel/scope.h"

#define LOOK_NS  NS_PER_SECOND        /* whether the program is still on the device */
#define YOUNG_NS (10 * NS_PER_SECOND) /* since it was attached */

int watched_open(const char *path, const char *device, enum rl_hook hook, bool is_new,
		 struct watched **out)
{
	struct watched *w = xcalloc(1, sizeof(*w));
	int ret;

	ret = instance_open_at(path, device, hook, USE_SHARED, &w->instance);
	w->can_sample = !ret;
	/* A reader may not write to the board of watchers: then there are no samples. */
	if (ret == -EACCES || ret == -EPERM)
		ret = instance_open_at(path, device, hook, USE_READ, &w->instance);
	if (ret) {
		free(w);
		return ret;
	}
	instance_context(&w->instance, &w->ctx);
	/* Only while it is young: later it may have been renamed, with bans that were reported. */
	w->waits = w->alarms.read =
		is_new && clock_ns(CLOCK_REALTIME) - w->instance.info.since_ns < YOUNG_NS;
	w->trial_fd = -1;
	w->journal_fd = journal_lock(path);
	journal_tail_open(&w->tail, path, is_new ? w->instance.info.since_ns : 0);
	ret = watched_poll(w); /* what is there is known */
	if (ret) {
		watched_close(w);
		return ret;
	}
	w->waits = false;
	*out = w;
	return 0;
}

bool watched_is_busy(const struct watched *w)
{
	return w->drops.count || w->drops.malformed.onset.seen || w->alarms_near ||
	       w->queue_count || w->bans.in_force;
}

int watched_close(struct watched *w)
{
	int ret = watched_tell(w, UINT64_MAX);

	watched_forget(w);
	watched_samples_close(w);
	known_then_clear(&w->known[0]);
	known_then_clear(&w->known[1]);
	watched_drops_clear(w);
	watched_bans_clear(w);
	policy_clear(&w->policy);
	scope_fd(&w->trial_fd);
	scope_fd(&w->journal_fd);
	journal_tail_close(&w->tail);
	instance_close(&w->instance);
	free(w);
	return ret;
}

int watched_poll(struct watched *w)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct device_program program;
	int ret;

	/* Has it been detached, or its device removed? */
	w->unpinned = instance_pins_check(&w->instance) == -ENOENT;
	if (w->unpinned)
		return -ENODEV;
	if (now_ns - w->looked_ns >= LOOK_NS) {
		w->looked_ns = now_ns;
		if (w->journal_fd < 0) /* the follower that wrote it may have ended */
			w->journal_fd = journal_lock(w->instance.path);
		if (instance_program_find(&w->instance, &program) == -ENOENT)
			return -ENODEV;
	}
	ret = watched_policy_poll(w, now_ns);
	ret = ret ?: watched_journal_poll(w);
	ret = ret ?: watched_drops_poll(w, now_ns);
	if (ret)
		return ret;
	watched_samples_poll(w, now_ns);
	if (!w->waits) {
		watched_bans_poll(w, now_ns);
		watched_state_poll(w, now_ns);
	}
	return watched_tell(w, now_ns);
}
