// SPDX-License-Identifier: GPL-2.0-only
/* Reads the journals of a namespace. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/events/event_json.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/selection.h"
#include "kernel/scope.h"

struct reading {
	const struct target *target;
	void (*visit)(struct json_object *event, void *arg);
	void *arg;
};

static void unread_note(const char *path, const char *name, int error)
{
	note("%s%s%s: %s: past events are left out%s", path, *name ? "/" : "", name,
	     error == -EINVAL || error == -ELOOP ? "no file" : strerror(-error),
	     error == -EACCES || error == -EPERM ? "; run as root to see them" : "");
}

/* NULL: it is not there, or cannot be read, which is noted. */
static FILE *file_open(const char *path, int folder, const char *name, const char *ending)
{
	char whole[NAME_MAX + 8];
	FILE *file;
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", name, ending);
	fd = regular_open(folder, whole, O_RDONLY);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !file)
		close(fd);
	if (fd < 0 && fd != -ENOENT)
		unread_note(path, whole, fd);
	return file;
}

static void lines_read(const struct reading *r, FILE *file)
{
	char line[EVENT_JSON_MAX + 1];

	while (file && fgets(line, sizeof(line), file)) {
		struct json_object *object = json_tokener_parse(line);

		/* A line that is cut off, or no object, is left out. */
		if (object && json_object_is_type(object, json_type_object))
			r->visit(object, r->arg);
		json_object_put(object);
	}
}

/* The former file first, unless the other one became it just now. */
static void files_read(const struct reading *r, const char *path, int folder, const char *name)
{
	CLOSED_FILE FILE *file = file_open(path, folder, name, "");
	CLOSED_FILE FILE *former = file_open(path, folder, name, JOURNAL_OLD);
	struct stat now, then;

	if (!former || !file || fstat(fileno(former), &then) || fstat(fileno(file), &now) ||
	    then.st_ino != now.st_ino)
		lines_read(r, former);
	lines_read(r, file);
}

static void folder_read(const struct reading *r, const char *path)
{
	const struct target *target = r->target;
	CLOSED_DIR DIR *dir = opendir(path);
	char device[IF_NAMESIZE];
	struct journal_name name;
	struct dirent *entry;
	enum rl_hook hook;

	if (!dir && errno != ENOENT)
		unread_note(path, "", -errno);
	while (dir && (entry = readdir(dir))) {
		if (!journal_name_split(entry->d_name, &name) ||
		    !pins_name_split(name.pins, device, &hook) ||
		    (target->hook >= 0 && target->hook != (int)hook))
			continue;
		if (target->device && strcmp(target->device, device) != 0 &&
		    !(target->many && selection_matches(target->device, device)))
			continue;
		/* Where a journal has just taken its turn, only the former file is there. */
		if (!name.is_old || faccessat(dirfd(dir), name.current, F_OK, 0))
			files_read(r, path, dirfd(dir), name.current);
	}
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

/* ---- what is appended: an event is in the place that its writer could write to, so both are read
 */

static const struct {
	enum journal_place place;
	const char *ending;
} tails[JOURNAL_TAILS] = {
	{PLACE_KEPT, ""}, {PLACE_KEPT, JOURNAL_BANS}, {PLACE_RUN, ""}, {PLACE_RUN, JOURNAL_BANS}};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Has another folder been kept since the last call? */
static bool kept_changes(struct journal_tail *tail, const char *pins)
{
	struct stat before = tail->kept;
	char path[JOURNAL_PATH_MAX];
	int ret = journal_path(PLACE_KEPT, pins, "", path);

	if (!ret)
		*strrchr(path, '/') = '\0';
	if (ret || stat(path, &tail->kept))
		tail->kept = (struct stat){0};
	return !same_file(&before, &tail->kept);
}

void journal_tail_open(struct journal_tail *tail, const char *pins, uint64_t since_ns)
{
	kept_changes(tail, pins);
	tail->last_ns = since_ns ? since_ns : clock_ns(CLOCK_REALTIME);
	for (int i = 0; i < JOURNAL_TAILS; i++) {
		struct journal_tail_file *file = &tail->file[i];

		file->fd = journal_open(tails[i].place, pins, tails[i].ending, O_RDONLY);
		file->since_ns = since_ns;
		if (file->fd >= 0 && !since_ns)
			lseek(file->fd, 0, SEEK_END);
	}
}

void journal_tail_close(struct journal_tail *tail)
{
	for (int i = 0; i < JOURNAL_TAILS; i++) {
		scope_fd(&tail->file[i].fd);
		tail->file[i].fd = -1;
	}
}

static int line_visit(struct journal_tail *tail, const struct journal_tail_file *file,
		      const char *line, journal_line_fn visit, void *arg)
{
	struct json_object *event = json_tokener_parse(line);
	uint64_t time_ns = event_time_of(event, "time");
	int ret = 0;

	if (json_object_is_type(event, json_type_object) && time_ns >= file->since_ns) {
		tail->last_ns = time_ns;
		ret = visit(line, event, arg);
	}
	json_object_put(event);
	return ret;
}

/* Whole lines only; the rest of one is read again. */
static int tail_read(struct journal_tail *tail, struct journal_tail_file *file,
		     journal_line_fn visit, void *arg)
{
	char text[2 * EVENT_JSON_MAX];
	ssize_t count;
	int ret = 0;

	while (!ret && (count = read(file->fd, text, sizeof(text))) > 0) {
		char *line = text, *end;

		while (!ret && (end = memchr(line, '\n', (size_t)(text + count - line)))) {
			*end = '\0';
			ret = line_visit(tail, file, line, visit, arg);
			line = end + 1;
		}
		if (line == text && count == sizeof(text))
			continue; /* no event is so long */
		if (line < text + count)
			lseek(file->fd, line - (text + count), SEEK_CUR);
		if (line == text)
			break;
	}
	file->since_ns = 0;
	return ret;
}

/* The file that has the name now, if it is another one; else -1. */
static int next_open(int number, const char *pins, int before)
{
	int fd = journal_open(tails[number].place, pins, tails[number].ending, O_RDONLY);
	struct stat now, then;

	if (fd < 0 || before < 0 ||
	    (!fstat(fd, &now) && !fstat(before, &then) && !same_file(&now, &then)))
		return fd;
	close(fd);
	return -1;
}

/* A file that takes its turn is read from its beginning; one of another folder also has what was in
 * the former place. */
int journal_tail_poll(struct journal_tail *tail, const char *pins, journal_line_fn visit, void *arg)
{
	bool moved = kept_changes(tail, pins);
	int ret = 0;

	for (int i = 0; !ret && i < JOURNAL_TAILS; i++) {
		struct journal_tail_file *file = &tail->file[i];
		int next = next_open(i, pins, file->fd);

		if (file->fd >= 0)
			ret = tail_read(tail, file, visit, arg);
		if (next < 0)
			continue;
		scope_fd(&file->fd);
		file->fd = next;
		file->since_ns = moved && tails[i].place == PLACE_KEPT ? tail->last_ns + 1 : 0;
		ret = ret ?: tail_read(tail, file, visit, arg);
	}
	return ret;
}
