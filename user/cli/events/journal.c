// SPDX-License-Identifier: GPL-2.0-only
/* How journals are written. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"
#include "watch/events/event.h"

/* ---- files */

int journal_lock(const char *pins)
{
	int fd = journal_open(PLACE_RUN, pins, ".lock", O_RDWR | O_CREAT);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

bool journal_is_followed(const char *pins)
{
	CLOSED int fd = journal_open(PLACE_RUN, pins, ".lock", O_RDWR);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* Under the lock of the file itself, so that of two that find it full one does it. */
static void file_turn(enum journal_place place, const char *pins, const char *ending, int fd)
{
	char path[JOURNAL_PATH_MAX], old[JOURNAL_PATH_MAX + sizeof(JOURNAL_OLD)];
	struct stat opened, named;

	if (flock(fd, LOCK_EX | LOCK_NB) || journal_path(place, pins, ending, path))
		return;
	snprintf(old, sizeof(old), "%s" JOURNAL_OLD, path);
	if (!fstat(fd, &opened) && !lstat(path, &named) && opened.st_ino == named.st_ino)
		rename(path, old);
}

/* One write() for each event: those of several processes do not mix. One that a full disk has cut
 * off is taken back, unless another one follows it. */
static bool file_append(int fd, const char *text, size_t len)
{
	ssize_t written = write(fd, text, len);
	off_t end = written > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
	struct stat st;

	if (written == (ssize_t)len)
		return true;
	if (end >= written && !fstat(fd, &st) && st.st_size == end && ftruncate(fd, end - written))
		return false;
	return false;
}

/* The file of bans also has the events that are lost, which are mostly bans, and members of sets.
 */
void journal_append(const char *pins, enum event_kind kind, const char *line)
{
	bool bans = kind == EVENT_BAN_BEGIN || kind == EVENT_BAN_END || kind == EVENT_SET_ADD ||
		    kind == EVENT_SET_DEL || kind == EVENT_LOST;
	const off_t most[PLACES] = {bans ? JOURNAL_KEPT_BANS_MAX : JOURNAL_KEPT_MAX, JOURNAL_MAX};
	const char *ending = bans ? JOURNAL_BANS : "";
	char text[EVENT_JSON_MAX + 1];
	int len = snprintf(text, sizeof(text), "%s\n", line);
	bool done = len > EVENT_JSON_MAX;

	for (int i = 0; !done && i < PLACES; i++) {
		CLOSED int fd = journal_open(i, pins, ending, O_WRONLY | O_APPEND | O_CREAT);
		struct stat st;

		done = fd >= 0 && file_append(fd, text, (size_t)len);
		if (done && !fstat(fd, &st) && st.st_size > most[i])
			file_turn(i, pins, ending, fd);
	}
}

/* ---- keeps them on a disk: what is in memory moves there */

/* 0 or -errno: then it stays. */
static int file_move(int from_folder, const char *from_name, int to_folder, const char *to_name)
{
	CLOSED int from = regular_open(from_folder, from_name, O_RDONLY);
	CLOSED int to =
		from < 0 ? from : regular_open(to_folder, to_name, O_WRONLY | O_APPEND | O_CREAT);
	off_t begin = to < 0 ? 0 : lseek(to, 0, SEEK_END);
	int ret = to < 0 ? to : 0;
	char bytes[16384];
	ssize_t count;

	while (!ret && (count = read(from, bytes, sizeof(bytes))))
		ret = count < 0 ? -errno : write(to, bytes, (size_t)count) == count ? 0 : -ENOSPC;
	/* Half of it would be there twice, unless somebody has appended to it meanwhile. */
	if (ret && to >= 0 && lseek(to, 0, SEEK_CUR) == lseek(to, 0, SEEK_END) &&
	    ftruncate(to, begin))
		ret = -errno;
	return ret ?: unlinkat(from_folder, from_name, 0) ? -errno : 0;
}

/* A line that a crash has cut off must not swallow the next one. */
static void lines_end(DIR *kept)
{
	struct journal_name name;
	struct dirent *entry;

	while ((entry = readdir(kept))) {
		char last = '\n';
		CLOSED int fd =
			journal_name_split(entry->d_name, &name)
				? regular_open(dirfd(kept), entry->d_name, O_RDWR | O_APPEND)
				: -1;

		if (fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 &&
		    last != '\n' && write(fd, "\n", 1) != 1)
			note("events: %s: %s", entry->d_name, strerror(errno));
	}
}

/* Former files and the others go into one: their lines have times. */
static int journals_move(const char *root, const char *folder)
{
	char run[JOURNAL_PATH_MAX];
	int ret = journal_folder(root, run);
	CLOSED_DIR DIR *kept = ret ? NULL : opendir(folder);
	CLOSED_DIR DIR *dir = kept ? opendir(run) : NULL;
	struct journal_name name;
	struct dirent *entry;

	if (ret || !dir)
		return ret ?: -errno;
	lines_end(kept);
	while (!ret && (entry = readdir(dir)))
		if (journal_name_split(entry->d_name, &name))
			ret = file_move(dirfd(dir), entry->d_name, dirfd(kept), name.current);
	return ret;
}

int journal_keep_in(const struct target *target, const char *folder)
{
	char root[INSTANCE_PATH_MAX], former[JOURNAL_PATH_MAX] = "";
	int moved, ret = pins_root(target->bpffs, false, root);

	if (ret)
		return ret;
	ret = journal_keep(root, folder, former);
	if (!ret && *former)
		note("events: they were kept in %s up to now: those stay there, and are not shown",
		     former);
	if (!ret && (moved = journals_move(root, folder)))
		note("events: moving what is in memory to %s failed: %s: it stays in memory",
		     folder, strerror(-moved));
	if (ret == -EPERM)
		return fail(
			"events: %s is of another user, or others may write to it: use a folder "
			"of your own with mode 0700",
			folder);
	return ret ? fail("events: keeping events in %s failed: %s", folder, strerror(-ret)) : 0;
}
