// SPDX-License-Identifier: GPL-2.0-only
/* Trials: a folder among the pins that is locked while somebody attends to the trial,
 * and in it a map that says what was decided. All decisions are made under the writers' lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_internal.h"
#include "kernel_trial.h"
#include "output.h"
#include "units.h"

#define TRIAL_PATH_MAX (INSTANCE_PATH_MAX + 16)

struct trial_record {
	uint64_t deadline_ns; /* CLOCK_BOOTTIME: time asleep counts */
	uint32_t state;       /* enum trial_state */
	uint32_t of;          /* enum trial_of */
};

const char *trial_of_name(enum trial_of of)
{
	return of == TRIAL_OF_LIMITER ? "limiter" : "policy";
}

static void folder_path(const char *pins, char out[TRIAL_PATH_MAX])
{
	snprintf(out, TRIAL_PATH_MAX, "%s/trial", pins);
}

static void record_path(const char *pins, char out[TRIAL_PATH_MAX])
{
	snprintf(out, TRIAL_PATH_MAX, "%s/trial/state", pins);
}

static int record_read(int fd, struct trial_record *out)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
}

static int record_write(int fd, const struct trial_record *record)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, record, BPF_ANY) ? -errno : 0;
}

void trial_clear(const char *path)
{
	char name[TRIAL_PATH_MAX];

	record_path(path, name);
	unlink(name);
	folder_path(path, name);
	rmdir(name);
}

/* ---- seen from outside */

/* 0 where there is a folder and somebody holds it, -ENOENT where not. Asking shares the lock, so
 * that two who ask do not take one another for a trial. */
int trial_check(const char *pins)
{
	char path[TRIAL_PATH_MAX];
	int fd, ret;

	if (!*pins)
		return -ENOENT; /* a simulation */
	folder_path(pins, path);
	fd = pins_folder_open(path);
	if (fd < 0)
		return fd;
	ret = flock(fd, LOCK_SH | LOCK_NB) ? -errno : -ENOENT;
	close(fd);
	return ret == -EWOULDBLOCK ? 0 : ret;
}

/* The record of the trial that runs: its descriptor, or -ENOENT. */
static int record_open(const char *pins, bool write, struct trial_record *out)
{
	char path[TRIAL_PATH_MAX];
	int fd, ret = trial_check(pins);

	if (ret)
		return ret;
	folder_path(pins, path);
	fd = pin_open_at(path, "state", write);
	if (fd < 0)
		return fd;
	ret = record_read(fd, out);
	if (!ret && out->state == TRIAL_RUNS)
		return fd;
	close(fd);
	return ret ? ret : -ENOENT;
}

int instance_trial_left(const struct instance *instance, struct trial_left *out)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	struct trial_record record;
	int fd = record_open(instance->path, false, &record);

	if (fd < 0)
		return fd;
	close(fd);
	out->of = record.of;
	out->ns = record.deadline_ns > now ? record.deadline_ns - now : 0;
	return 0;
}

bool instance_trial_stale(const struct instance *instance)
{
	char path[TRIAL_PATH_MAX];

	folder_path(instance->path, path);
	return !access(path, F_OK) && trial_check(instance->path) == -ENOENT;
}

int trial_refuse(const struct instance *instance)
{
	struct trial_left left;
	int ret = instance->on_trial ? -ENOENT : instance_trial_left(instance, &left);

	if (ret == -ENOENT)
		return 0;
	if (ret) {
		fail("%s: whether something is on trial cannot be seen: %s", instance->device,
		     strerror(-ret));
		return ret;
	}
	fail("%s: a %s is on trial there for another %ju s: `rlctl confirm -i %s` keeps it, or "
	     "wait until it is undone; then try again",
	     instance->device, trial_of_name(left.of),
	     (uintmax_t)((left.ns + NS_PER_SECOND - 1) / NS_PER_SECOND), instance->device);
	return -EBUSY;
}

int instance_trial_keep(const struct instance *instance, enum trial_of *of)
{
	struct trial_record record;
	int ret, fd = record_open(instance->path, true, &record);

	if (fd == -ENOENT)
		fail("%s: nothing is on trial: there is nothing to confirm", instance->device);
	else if (fd < 0)
		fail("%s: confirming failed: %s", instance->device, strerror(-fd));
	if (fd < 0)
		return fd;
	*of = record.of;
	record.state = TRIAL_KEPT;
	ret = record_write(fd, &record);
	close(fd);
	if (ret)
		fail("%s: confirming failed: %s", instance->device, strerror(-ret));
	else
		trial_clear(instance->path);
	return ret;
}

/* ---- by those who attend to it */

static int folder_make(const char *pins)
{
	char path[TRIAL_PATH_MAX];
	int fd;

	trial_clear(pins); /* what a crash left */
	folder_path(pins, path);
	if (mkdir(path, 0700))
		return -errno;
	fd = group_take(pins, "trial");
	if (!fd)
		fd = pins_folder_open(path);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

static int record_make(const char *pins, const struct trial_record *record)
{
	char path[TRIAL_PATH_MAX];
	int ret, fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_trial", sizeof(uint32_t), sizeof(*record), 1,
			    NULL);
	if (fd < 0)
		return -errno;
	record_path(pins, path);
	ret = record_write(fd, record);
	if (!ret && bpf_obj_pin(fd, path))
		ret = -errno;
	if (!ret)
		ret = group_take(pins, "trial/state");
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Makes the folder and the record of what `trial` says. Reports. */
static int trial_begin(struct trial *trial, uint64_t duration_ns)
{
	struct trial_record record = {.state = TRIAL_RUNS, .of = trial->of};
	int ret;

	trial->deadline_ns = record.deadline_ns = clock_ns(CLOCK_BOOTTIME) + duration_ns;
	ret = trial->folder_fd = folder_make(trial->path);
	if (ret >= 0)
		ret = trial->state_fd = record_make(trial->path, &record);
	if (ret >= 0)
		return 0;
	fail("%s: the trial could not begin: %s", trial->device, strerror(-ret));
	trial_clear(trial->path);
	if (trial->folder_fd >= 0)
		close(trial->folder_fd);
	return ret;
}

static struct trial trial_at(enum trial_of of, const struct place *place)
{
	struct trial trial = {.of = of,
			      .hook = place->hook,
			      .ifindex = place->ifindex,
			      .lock_fd = place->lock_fd,
			      .folder_fd = -1,
			      .state_fd = -1};

	snprintf(trial.device, sizeof(trial.device), "%s", place->device);
	snprintf(trial.path, sizeof(trial.path), "%s", place->path);
	return trial;
}

int policy_trial_begin(struct instance *instance, uint64_t duration_ns, struct trial *out)
{
	const struct place place = {.path = instance->path,
				    .device = instance->device,
				    .hook = instance->info.hook,
				    .ifindex = instance->info.ifindex,
				    .lock_fd = &instance->lock_fd};
	struct trial trial = trial_at(TRIAL_OF_POLICY, &place);
	int ret = trial_refuse(instance);

	if (!ret)
		ret = instance_policy_read(instance, &trial.before);
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

int limiter_trial_begin(const struct place *place, uint64_t duration_ns, struct trial *out)
{
	struct trial trial = trial_at(TRIAL_OF_LIMITER, place);
	int ret = trial_begin(&trial, duration_ns);

	if (!ret)
		*out = trial;
	return ret;
}

void trial_unlock(struct trial *trial)
{
	if (*trial->lock_fd >= 0)
		close(*trial->lock_fd);
	*trial->lock_fd = -1;
}

static bool is_still_there(const struct trial *trial)
{
	struct stat opened, named;
	char path[TRIAL_PATH_MAX];

	folder_path(trial->path, path);
	return !fstat(trial->folder_fd, &opened) && !lstat(path, &named) &&
	       opened.st_ino == named.st_ino;
}

enum trial_state trial_look(const struct trial *trial)
{
	bool there = is_still_there(trial); /* first: what decides writes before it removes */
	struct trial_record record;

	if (record_read(trial->state_fd, &record))
		return TRIAL_RUNS; /* for all that is known */
	return record.state == TRIAL_RUNS && !there ? TRIAL_GONE : (enum trial_state)record.state;
}

/* The device may have got another name meanwhile: its pins follow when the trial is over. */
static const char *device_now(const struct trial *trial, char name[IF_NAMESIZE])
{
	return if_indextoname(trial->ifindex, name) ? name : trial->device;
}

static int trial_undo(const struct trial *trial)
{
	char name[IF_NAMESIZE];

	if (trial->of == TRIAL_OF_POLICY)
		return instance_policy_restore(trial->instance, &trial->before);
	return place_program_detach(trial->path, device_now(trial, name), trial->hook);
}

/* What was decided is known to all by now. */
static void trial_leave(const struct trial *trial, enum trial_state decided)
{
	char name[IF_NAMESIZE];

	if (trial->of == TRIAL_OF_LIMITER && decided == TRIAL_UNDONE)
		place_vacate(trial->path, device_now(trial, name), trial->hook);
	else
		trial_clear(trial->path);
}

int trial_end(struct trial *trial, bool keep)
{
	struct trial_record record = {.deadline_ns = trial->deadline_ns, .of = trial->of};
	int lock, ret = trial_look(trial);

	if (ret != TRIAL_RUNS)
		return ret;
	lock = pins_lock(trial->path, false);
	ret = trial_look(trial);
	if (lock < 0 && ret == TRIAL_RUNS)
		ret = lock;
	if (ret != TRIAL_RUNS)
		goto out;
	if (!keep)
		ret = trial_undo(trial);
	if (ret < 0)
		goto out;
	ret = record.state = keep ? TRIAL_KEPT : TRIAL_UNDONE;
	record_write(trial->state_fd, &record);
	trial_leave(trial, ret);
out:
	if (lock >= 0)
		close(lock);
	return ret;
}

void trial_close(struct trial *trial)
{
	policy_clear(&trial->before);
	close(trial->state_fd);
	close(trial->folder_fd);
}
