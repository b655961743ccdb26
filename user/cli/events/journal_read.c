// SPDX-License-Identifier: GPL-2.0-only
/* Reads the journals of a namespace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Opens it for lines_read(). NULL: it is not there, or errno says why it cannot be read. */
static FILE *file_open(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static void lines_read(const struct reading *r, FILE *file)
{
	char line[EVENT_JSON_MAX + 1];

	while (fgets(line, sizeof(line), file)) {
		struct json_object *object = json_tokener_parse(line);

		/* A line that is cut off, or no object, is left out. */
		if (object && json_object_is_type(object, json_type_object))
			r->visit(object, r->arg);
		json_object_put(object);
	}
	fclose(file);
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

static bool is_same_file(FILE *a, FILE *b)
{
	struct stat x, y;

	return a && b && !fstat(fileno(a), &x) && !fstat(fileno(b), &y) && x.st_ino == y.st_ino;
}

/* The former file first, unless the other one became it just now. */
static int files_read(const struct reading *r, int folder, const char *name)
{
	FILE *file = file_open(folder, name), *former;
	char old[NAME_MAX + 8];

	if (!file && errno != ENOENT)
		return -errno;
	snprintf(old, sizeof(old), "%s" JOURNAL_OLD, name);
	former = file_open(folder, old);
	if (former && is_same_file(former, file))
		fclose(former);
	else if (former)
		lines_read(r, former);
	if (file)
		lines_read(r, file);
	return 0;
}

static int folder_read(const struct reading *r, const char *path)
{
	DIR *dir = opendir(path);
	struct journal_name name;
	struct dirent *entry;
	int ret = dir ? 0 : -errno;

	/* Where a journal has just taken its turn, only the former file is there. */
	while (!ret && dir && (entry = readdir(dir)))
		if (journal_name_split(entry->d_name, &name) && is_wanted(r->target, name.pins) &&
		    (!name.is_old || faccessat(dirfd(dir), name.current, F_OK, 0)))
			ret = files_read(r, dirfd(dir), name.current);
	if (dir)
		closedir(dir);
	return ret == -ENOENT ? 0 : ret;
}

int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg)
{
	const struct reading r = {.target = target, .visit = visit, .arg = arg};
	char root[INSTANCE_PATH_MAX], path[JOURNAL_PATH_MAX], kept[JOURNAL_PATH_MAX + 8];
	int ret = pins_root(target->bpffs, false, root);

	if (ret)
		return ret;
	ret = journal_folder(root, path);
	snprintf(kept, sizeof(kept), "%s/" JOURNAL_KEPT, path);
	if (!ret)
		ret = folder_read(&r, kept);
	if (!ret)
		ret = folder_read(&r, path);
	if (ret)
		note("%s: %s: past events are left out; run as root to see them", path,
		     strerror(-ret));
	return 0;
}
