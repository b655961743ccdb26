// SPDX-License-Identifier: GPL-2.0-only
/* Where journals are, and how they are written. */
#include "cli/events/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/events/event_json.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal_place.h"
#include "cli/output/output.h"
#include "kernel/instance/change.h"
#include "watch/event.h"

/* ---- files */

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

/* Is there a follower that writes it? */
static bool is_followed(const char *pins)
{
	int fd = journal_open(pins, ".lock", O_RDWR);
	bool followed = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return followed;
}

/* Under the lock of the file itself, so that of two that find it full one does it. */
static void journal_turn(const char *pins, int fd)
{
	char path[JOURNAL_PATH_MAX], old[JOURNAL_PATH_MAX];
	struct stat opened, named;

	if (flock(fd, LOCK_EX | LOCK_NB) || journal_path(pins, "", path) ||
	    journal_path(pins, ".old", old))
		return;
	if (!fstat(fd, &opened) && !lstat(path, &named) && opened.st_ino == named.st_ino)
		rename(path, old);
}

/* One write() for each event: those of several processes do not mix. */
void journal_append(const char *pins, const char *line)
{
	int fd = journal_open(pins, "", O_WRONLY | O_APPEND | O_CREAT);
	struct stat st;
	char *text = NULL;
	int len = fd < 0 ? -1 : asprintf(&text, "%s\n", line);

	if (len > 0 && len <= EVENT_JSON_MAX && write(fd, text, (size_t)len) == len &&
	    !fstat(fd, &st) && st.st_size > JOURNAL_MAX)
		journal_turn(pins, fd);
	if (len >= 0)
		free(text);
	if (fd >= 0)
		close(fd);
}

/* ---- the changes of this process */

static const enum event_kind kinds[] = {
	[CHANGE_ATTACHED] = EVENT_ATTACH,
	[CHANGE_DETACHED] = EVENT_DETACH,
	[CHANGE_POLICY] = EVENT_APPLY,
	[CHANGE_RULES] = EVENT_APPLY,
	[CHANGE_TRIAL_UNDONE] = EVENT_TRIAL_UNDONE,
	[CHANGE_SET_FULL] = EVENT_SET_FULL,
	[CHANGE_FLEET_JOINED] = EVENT_FLEET_JOINED,
	[CHANGE_FLEET_LOST] = EVENT_FLEET_LOST,
};

static void text_put(const struct instance_change *change, struct event *event)
{
	const char *name = change->name ? change->name : "";
	char number[NUMBER_TEXT_MAX];

	number_print(number, change->number);
	switch (change->kind) {
	case CHANGE_ATTACHED:
	case CHANGE_POLICY:
		snprintf(event->text, EVENT_TEXT_MAX, "%s%s rule%s",
			 change->kind == CHANGE_ATTACHED ? "attached, with " : "", number,
			 change->number == 1 ? "" : "s");
		break;
	case CHANGE_RULES:
		snprintf(event->text, EVENT_TEXT_MAX,
			 "the rules of one prefix were changed: it has %s now", number);
		break;
	case CHANGE_DETACHED:
		snprintf(event->text, EVENT_TEXT_MAX, "detached");
		break;
	case CHANGE_TRIAL_UNDONE:
		snprintf(event->text, EVENT_TEXT_MAX, "not confirmed");
		break;
	case CHANGE_SET_FULL:
		snprintf(event->set, sizeof(event->set), "%s", name);
		snprintf(event->text, EVENT_TEXT_MAX, "set %.31s is full: %s not added", name,
			 number);
		break;
	case CHANGE_FLEET_JOINED:
		snprintf(event->text, EVENT_TEXT_MAX, "fleet %.63s joined: %s member%s", name,
			 number, change->number == 1 ? "" : "s");
		break;
	case CHANGE_FLEET_LOST:
		snprintf(event->text, EVENT_TEXT_MAX, "fleet %.63s lost", name);
		break;
	}
}

/* A follower does not know an instance that has just been attached, and notices late that one was
 * detached: so these two are always written here. */
static void change_write(const struct instance_change *change)
{
	struct event event = {.kind = kinds[change->kind],
			      .time_ns =
				      change->time_ns ? change->time_ns : clock_ns(CLOCK_REALTIME),
			      .hook = (uint8_t)change->hook};
	struct json_object *object;
	char *line;

	if (change->kind != CHANGE_ATTACHED && change->kind != CHANGE_DETACHED &&
	    is_followed(change->path))
		return;
	snprintf(event.device, sizeof(event.device), "%s", change->device);
	text_put(change, &event);
	object = event_json(&event);
	line = json_line(object);
	journal_append(change->path, line);
	free(line);
	json_object_put(object);
	if (change->kind == CHANGE_ATTACHED)
		journals_tidy(change->path);
}

void journal_begin(void)
{
	change_sink_set(change_write);
}
