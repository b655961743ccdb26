// SPDX-License-Identifier: GPL-2.0-only
/* Reads the journals of a namespace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/selection.h"

struct reading {
	const struct target *target;
	void (*visit)(struct json_object *event, void *arg);
	void *arg;
};

static int file_read(const struct reading *r, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[EVENT_JSON_MAX + 1];

	if (!file) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return -error;
	}
	while (fgets(line, sizeof(line), file)) {
		struct json_object *object = json_tokener_parse(line);

		/* A line that is cut off, or no object, is left out. */
		if (object && json_object_is_type(object, json_type_object))
			r->visit(object, r->arg);
		json_object_put(object);
	}
	fclose(file);
	return 0;
}

static bool is_wanted(const struct target *target, const char *name)
{
	char device[IF_NAMESIZE];
	enum rl_hook hook;

	if (!pins_name_split(name, device, &hook) ||
	    (target->hook >= 0 && target->hook != (int)hook))
		return false;
	return !target->device || !strcmp(target->device, device) ||
	       (target->many && selection_matches(target->device, device));
}

/* The former file first. */
static int journal_files_read(const struct reading *r, int folder, const char *name)
{
	char old[NAME_MAX + 8];
	int ret;

	snprintf(old, sizeof(old), "%s.old", name);
	ret = file_read(r, folder, old);
	if (!ret || ret == -ENOENT)
		ret = file_read(r, folder, name);
	return ret == -ENOENT ? 0 : ret;
}

static int folder_read(const struct reading *r, DIR *dir)
{
	struct dirent *entry;
	int ret = 0;

	while (!ret && (entry = readdir(dir))) {
		char *dot = strrchr(entry->d_name, '.');
		bool old = dot && !strcmp(dot, ".old");

		/* Where a journal has just taken its turn, only the former file is there. */
		if (old)
			*dot = '\0';
		if (!is_wanted(r->target, entry->d_name) ||
		    (old && !faccessat(dirfd(dir), entry->d_name, F_OK, 0)))
			continue;
		ret = journal_files_read(r, dirfd(dir), entry->d_name);
	}
	return ret;
}

int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg)
{
	const struct reading r = {.target = target, .visit = visit, .arg = arg};
	char root[INSTANCE_PATH_MAX], path[JOURNAL_PATH_MAX];
	int ret = pins_root(target->bpffs, false, root);
	DIR *dir;

	if (ret)
		return ret;
	ret = journal_folder(root, path);
	dir = ret ? NULL : opendir(path);
	if (!dir)
		ret = ret ? ret : -errno;
	else
		ret = folder_read(&r, dir);
	if (dir)
		closedir(dir);
	if (!ret || ret == -ENOENT)
		return 0;
	note("%s: %s: past events are left out; run as root to see them", path, strerror(-ret));
	return 0;
}
