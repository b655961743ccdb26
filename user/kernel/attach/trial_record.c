// SPDX-License-Identifier: GPL-2.0-only
/* Reads and writes the record of a trial. */

#include "kernel/attach/trial_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

#define OVERDUE_NS (10 * NS_PER_SECOND) /* it takes to undo a trial at most */

void trial_folder_path(const char *pins, char out[TRIAL_PATH_MAX])
{
	snprintf(out, TRIAL_PATH_MAX, "%s/" TRIAL_FOLDER, pins);
}

int trial_record_read(int fd, struct trial_record *out)
{
	return map_get(fd, out);
}

/* Takes a shared lock, so that two processes that check do not mistake each other for a trial. */
int trial_check(const char *pins)
{
	char path[TRIAL_PATH_MAX];
	struct trial_record record;
	int ret;

	if (!*pins)
		return -ENOENT; /* a simulation */
	trial_folder_path(pins, path);
	CLOSED int fd = pins_folder_open(path, O_RDONLY);
	if (fd == -EACCES) {
		/* For members of the group, who may not lock: a trial that has not been decided is
		 * taken to run until shortly after its end. */
		CLOSED int state = pin_open_at(path, "state", false);

		ret = state < 0 ? state : map_get(state, &record);
		if (ret)
			return ret;
		return record.state == TRIAL_RUNS &&
				       clock_ns(CLOCK_BOOTTIME) < record.deadline_ns + OVERDUE_NS
			       ? 0
			       : -ENOENT;
	}
	if (fd < 0)
		return fd;
	if (!flock(fd, LOCK_SH | LOCK_NB))
		return -ENOENT;
	return errno == EWOULDBLOCK ? 0 : -errno;
}

int trial_record_open(const char *pins, bool write, struct trial_record *out)
{
	int fd, ret = trial_check(pins);

	if (ret)
		return ret;
	fd = pin_open_at(pins, TRIAL_FOLDER "/state", write);
	ret = fd < 0 ? fd : map_get(fd, out);
	if (!ret && out->state == TRIAL_RUNS)
		return fd;
	scope_fd(&fd);
	return ret ? ret : -ENOENT;
}

int instance_trial_left(const struct instance *instance, struct trial_left *out)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	struct trial_record record;
	CLOSED int fd = trial_record_open(instance->path, false, &record);

	if (fd < 0)
		return fd;
	out->kind = record.kind;
	out->ns = record.deadline_ns > now ? record.deadline_ns - now : 0;
	return 0;
}

bool instance_trial_stale(const struct instance *instance)
{
	char path[TRIAL_PATH_MAX];

	trial_folder_path(instance->path, path);
	return !access(path, F_OK) && trial_check(instance->path) == -ENOENT;
}

int trial_refuse(const struct instance *instance)
{
	struct trial_left left;
	int ret = instance->on_trial ? -ENOENT : instance_trial_left(instance, &left);

	if (ret == -ENOENT)
		return 0;
	if (ret) {
		fail("%s: reading the record of a trial failed: %s", instance->device,
		     strerror(-ret));
		return ret;
	}
	fail("%s: a %s is on trial for another %ju s: keep it with `rlctl confirm -i %s` or wait "
	     "until it is undone, then try again",
	     instance->device, trial_kind_name(left.kind),
	     (uintmax_t)((left.ns + NS_PER_SECOND - 1) / NS_PER_SECOND), instance->device);
	return -EBUSY;
}

const char *trial_kind_name(enum trial_kind kind)
{
	return kind == TRIAL_LIMITER ? "limiter" : "policy";
}
