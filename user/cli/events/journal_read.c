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

/* Opens it for lines_read(). NULL: it is not there, or *error says why it cannot be read. */
static FILE *file_open(int folder, const char *name, int *error)
{
	int fd = regular_open(folder, name, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	*error = fd < 0 && fd != -ENOENT ? fd : 0;
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

static void unread_note(const char *path, const char *name, int error)
{
	note("%s%s%s: %s: past events are left out%s", path, *name ? "/" : "", name,
	     error == -EINVAL || error == -ELOOP ? "no file" : strerror(-error),
	     error == -EACCES || error == -EPERM ? "; run as root to see them" : "");
}

/* The former file first, unless the other one became it just now. */
static void files_read(const struct reading *r, const char *path, int folder, const char *name)
{
	char old[NAME_MAX + 8];
	int error, former_error;
	FILE *file = file_open(folder, name, &error), *former;

	if (error)
		unread_note(path, name, error);
	snprintf(old, sizeof(old), "%s" JOURNAL_OLD, name);
	former = file_open(folder, old, &former_error);
	if (former_error)
		unread_note(path, old, former_error);
	if (former && is_same_file(former, file))
		fclose(former);
	else if (former)
		lines_read(r, former);
	if (file)
		lines_read(r, file);
}

static void folder_read(const struct reading *r, const char *path)
{
	DIR *dir = opendir(path);
	struct journal_name name;
	struct dirent *entry;

	if (!dir && errno != ENOENT)
		unread_note(path, "", -errno);
	/* Where a journal has just taken its turn, only the former file is there. */
	while (dir && (entry = readdir(dir)))
		if (journal_name_split(entry->d_name, &name) && is_wanted(r->target, name.pins) &&
		    (!name.is_old || faccessat(dirfd(dir), name.current, F_OK, 0)))
			files_read(r, path, dirfd(dir), name.current);
	if (dir)
		closedir(dir);
}

int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg)
{
	const struct reading r = {.target = target, .visit = visit, .arg = arg};
	char root[INSTANCE_PATH_MAX], path[JOURNAL_PATH_MAX], kept[JOURNAL_PATH_MAX + 8];
	int ret = pins_root(target->bpffs, false, root);

	if (ret)
		return ret;
	if (journal_folder(root, path))
		return 0;
	snprintf(kept, sizeof(kept), "%s/" JOURNAL_KEPT, path);
	folder_read(&r, kept);
	folder_read(&r, path);
	return 0;
}
