// SPDX-License-Identifier: GPL-2.0-only
/* Changes of the policy, and trials. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/events/watched.h"
#include "kernel/attach/trial_record.h"
#include "kernel/policy/policy_read.h"
#include "policy/alarm.h"

#define READ_SHARE 10 /* of a CPU is spent on reading the policy at most: one part in so many */

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
		event_text_set(&pending->event, "%s",
			       record.kind == TRIAL_LIMITER
				       ? "not confirmed: the limiter was detached"
				       : "not confirmed: the previous policy is in force again");
	close(w->trial_fd);
	w->trial_fd = -1;
}

/* ---- the policy */

struct changes {
	size_t added, removed, changed;
};

static void change_count(const struct rule *from, const struct rule *to, void *arg)
{
	struct changes *changes = arg;

	changes->changed += from && to;
	changes->added += !from;
	changes->removed += !to;
}

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
	struct changes changes = {0};
	struct pending *pending = NULL;
	size_t count = policy_diff(&before, next, change_count, &changes);

	w->policy = *next;
	watched_drops_policy_changed(w, &before);
	if (policy_alarms_diff(&before, next, alarm_seen, NULL))
		watched_alarms_changed(w);
	if (w->written && (count || written != w->written))
		pending = watched_command_event(w, EVENT_APPLY);
	if (pending)
		event_text_set(&pending->event, "%zu rule%s: %zu added, %zu changed, %zu removed",
			       next->count, next->count == 1 ? "" : "s", changes.added,
			       changes.changed, changes.removed);
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
		return 0; /* being detached, which the pins will tell */
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
