// SPDX-License-Identifier: GPL-2.0-only
/* Trials. A directory among the pins is locked while a process runs the trial, and a map in it
 * holds the decision. All decisions are made under the writers' lock. */

#include "kernel/attach/trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/attach/attach.h"
#include "kernel/instance/change.h"
#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/scope.h"

/* A process that holds the lock for longer does not move. The writers that it would exclude are
 * refused during a trial, but for changes of members, of which one may be lost. */
#define UNDO_WAIT_MS 5000

int instance_trial_keep(const struct instance *instance, enum trial_kind *kind)
{
	struct trial_record record;
	CLOSED int fd = trial_record_open(instance->path, true, &record);
	int ret = fd;

	if (fd >= 0) {
		*kind = record.kind;
		record.state = TRIAL_KEPT;
		ret = map_put(fd, &record);
	}
	if (ret == -ENOENT)
		fail("%s: nothing is on trial, so there is nothing to confirm", instance->device);
	else if (ret)
		fail("%s: confirming failed: %s", instance->device, strerror(-ret));
	else
		folder_clear(instance->path, TRIAL_FOLDER);
	return ret;
}

static int folder_make(const char *pins)
{
	char path[TRIAL_PATH_MAX];
	int fd, ret;

	folder_clear(pins, TRIAL_FOLDER); /* left by a crash */
	trial_folder_path(pins, path);
	if (mkdir(path, 0700))
		return -errno;
	fd = pins_folder_open(path, O_RDONLY);
	ret = fd < 0 ? fd : lock_wait(fd, path, LOCK_WAIT_MS);
	if (!ret)
		ret = group_inherit(pins, TRIAL_FOLDER);
	if (ret)
		scope_fd(&fd);
	return ret ? ret : fd;
}

/* Creates the directory and the record of `trial`. Reports. */
static int trial_begin(struct trial *trial, uint64_t duration_ns)
{
	struct trial_record record = {.state = TRIAL_RUNS, .kind = trial->kind};
	int ret;

	trial->deadline_ns = record.deadline_ns = clock_ns(CLOCK_BOOTTIME) + duration_ns;
	ret = trial->folder_fd = folder_make(trial->path);
	if (ret >= 0)
		ret = trial->state_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_trial",
						       sizeof(uint32_t), sizeof(record), 1, NULL);
	if (ret >= 0)
		ret = map_put(trial->state_fd, &record);
	if (!ret)
		ret = group_pin(trial->path, TRIAL_FOLDER "/state", trial->state_fd);
	if (!ret)
		return 0;
	fail("%s: starting the trial failed: %s", trial->device, strerror(-ret));
	folder_clear(trial->path, TRIAL_FOLDER);
	scope_fd(&trial->folder_fd);
	scope_fd(&trial->state_fd);
	return ret;
}

static struct trial trial_at(enum trial_kind kind, const struct attach_point *point)
{
	struct trial trial = {.kind = kind,
			      .hook = point->hook,
			      .ifindex = point->ifindex,
			      .lock_fd = point->lock_fd,
			      .folder_fd = -1,
			      .state_fd = -1};

	snprintf(trial.device, sizeof(trial.device), "%s", point->device);
	snprintf(trial.path, sizeof(trial.path), "%s", point->path);
	return trial;
}

int policy_trial_begin(struct instance *instance, uint64_t duration_ns, struct trial *out)
{
	const struct attach_point point = {.path = instance->path,
					   .device = instance->device,
					   .hook = instance->info.hook,
					   .ifindex = instance->info.ifindex,
					   .lock_fd = &instance->lock_fd};
	struct trial trial = trial_at(TRIAL_POLICY, &point);
	int ret = trial_refuse(instance) ?: instance_policy_read(instance, &trial.before);

	if (!ret)
		ret = trial_begin(&trial, duration_ns);
	if (ret) {
		policy_clear(&trial.before);
		return ret;
	}
	instance->on_trial = true;
	trial.instance = instance;
	*out = trial;
	return 0;
}

int limiter_trial_begin(const struct attach_point *point, uint64_t duration_ns, struct trial *out)
{
	struct trial trial = trial_at(TRIAL_LIMITER, point);
	int ret = trial_begin(&trial, duration_ns);

	if (!ret)
		*out = trial;
	return ret;
}

void trial_unlock(struct trial *trial)
{
	pins_unlock(*trial->lock_fd);
	*trial->lock_fd = -1;
}

enum trial_state trial_state_read(const struct trial *trial)
{
	struct trial_record record;
	char path[TRIAL_PATH_MAX];
	bool there;

	/* First, as a decision is written before the directory is removed. */
	trial_folder_path(trial->path, path);
	there = folder_is(trial->folder_fd, path);
	if (map_get(trial->state_fd, &record))
		return TRIAL_RUNS; /* as far as is known */
	return record.state == TRIAL_RUNS && !there ? TRIAL_GONE : (enum trial_state)record.state;
}

void trial_deadline_set(struct trial *trial, uint64_t deadline_ns)
{
	struct trial_record record = {.deadline_ns = deadline_ns, .kind = trial->kind};
	int lock = pins_lock_within(trial->path, false, LOCK_WAIT_MS);

	trial->deadline_ns = deadline_ns;
	record.state = trial_state_read(trial);
	if (lock >= 0 && record.state == TRIAL_RUNS)
		map_put(trial->state_fd, &record);
	pins_unlock(lock);
}

/* The device may have been renamed meanwhile; its pins are renamed after the trial. */
static const char *device_now(const struct trial *trial, char name[IF_NAMESIZE])
{
	return if_indextoname(trial->ifindex, name) ? name : trial->device;
}

int trial_end(struct trial *trial, bool keep)
{
	struct trial_record record = {.deadline_ns = trial->deadline_ns, .kind = trial->kind};
	int lock, ret = trial_state_read(trial);
	char name[IF_NAMESIZE];

	if (ret != TRIAL_RUNS)
		return ret;
	lock = pins_lock_within(trial->path, false, keep ? LOCK_WAIT_MS : UNDO_WAIT_MS);
	ret = trial_state_read(trial);
	if (lock == -ETIMEDOUT && ret == TRIAL_RUNS && !keep)
		note("%s: undone without it, as the trial is over", trial->device);
	else if (lock < 0 && ret == TRIAL_RUNS)
		ret = lock;
	if (ret != TRIAL_RUNS)
		goto out;
	if (!keep && trial->kind == TRIAL_POLICY)
		ret = instance_policy_restore(trial->instance, &trial->before);
	else if (!keep)
		ret = instance_program_detach(trial->path, device_now(trial, name), trial->hook);
	if (ret < 0)
		goto out;
	ret = record.state = keep ? TRIAL_KEPT : TRIAL_UNDONE;
	map_put(trial->state_fd, &record);
	if (!keep)
		change_tell(&(struct instance_change){.kind = CHANGE_TRIAL_UNDONE,
						      .path = trial->path,
						      .device = trial->device,
						      .hook = trial->hook,
						      .number = trial->kind == TRIAL_LIMITER});
	/* After the decision is recorded. */
	if (trial->kind == TRIAL_LIMITER && ret == TRIAL_UNDONE)
		instance_teardown(trial->path, device_now(trial, name), trial->hook);
	else
		folder_clear(trial->path, TRIAL_FOLDER);
out:
	pins_unlock(lock);
	return ret;
}

/* Another trial may have begun since. */
void policy_trial_settle(const struct trial *trial)
{
	int lock = pins_lock(trial->path, false);

	if (lock < 0)
		return;
	if (trial_check(trial->path) == -ENOENT)
		policy_in_force_settle(trial->instance);
	pins_unlock(lock);
}

void trial_close(struct trial *trial)
{
	policy_clear(&trial->before);
	close(trial->state_fd);
	close(trial->folder_fd);
}
