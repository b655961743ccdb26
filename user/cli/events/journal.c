// SPDX-License-Identifier: GPL-2.0-only
/* How journals are written. */
#include "cli/events/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/events/event_sink.h"
#include "cli/events/journal_place.h"
#include "watch/events/event.h"

/* ---- files */

/* Where an event may be written, the better place first. */
static const struct place {
	int (*open)(const char *pins, const char *ending, int flags);
	int (*path)(const char *pins, const char *ending, char out[JOURNAL_PATH_MAX]);
	off_t max, bans_max; /* bytes of a file */
} places[] = {
	{journal_kept_open, journal_kept_path, JOURNAL_KEPT_MAX, JOURNAL_KEPT_BANS_MAX},
	{journal_open, journal_path, JOURNAL_MAX, JOURNAL_MAX},
};

int journal_lock(const char *pins)
{
	int fd = journal_open(pins, ".lock", O_RDWR | O_CREAT);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

bool journal_is_followed(const char *pins)
{
	int fd = journal_open(pins, ".lock", O_RDWR);
	bool followed = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return followed;
}

/* The ending of the file that such an event is in: that of bans also has the events that are lost,
 * which are mostly bans. */
static const char *journal_ending(enum event_kind kind)
{
	switch (kind) {
	case EVENT_BAN_BEGIN:
	case EVENT_BAN_END:
	case EVENT_SET_ADD:
	case EVENT_SET_DEL:
	case EVENT_LOST:
		return JOURNAL_BANS;
	default:
		return "";
	}
}

/* Under the lock of the file itself, so that of two that find it full one does it. */
static void file_turn(const struct place *place, const char *pins, const char *ending, int fd)
{
	char path[JOURNAL_PATH_MAX], old[JOURNAL_PATH_MAX], old_ending[16];
	struct stat opened, named;

	snprintf(old_ending, sizeof(old_ending), "%s" JOURNAL_OLD, ending);
	if (flock(fd, LOCK_EX | LOCK_NB) || place->path(pins, ending, path) ||
	    place->path(pins, old_ending, old))
		return;
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

static bool place_append(const struct place *place, const char *pins, const char *ending,
			 const char *text, size_t len)
{
	int fd = place->open(pins, ending, O_WRONLY | O_APPEND | O_CREAT);
	struct stat st;
	bool done;

	if (fd < 0)
		return false;
	done = file_append(fd, text, len);
	if (done && !fstat(fd, &st) && st.st_size > (*ending ? place->bans_max : place->max))
		file_turn(place, pins, ending, fd);
	close(fd);
	return done;
}

void journal_append(const char *pins, enum event_kind kind, const char *line)
{
	const char *ending = journal_ending(kind);
	char *text;
	int len = asprintf(&text, "%s\n", line);

	if (len < 0)
		return;
	for (size_t i = 0; len <= EVENT_JSON_MAX && i < sizeof(places) / sizeof(*places); i++)
		if (place_append(&places[i], pins, ending, text, (size_t)len))
			break;
	free(text);
}
