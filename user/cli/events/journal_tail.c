// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/journal_tail.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"

static const char *const endings[JOURNAL_TAILS] = {"", JOURNAL_BANS};

static int file_open(const char *pins, const char *ending)
{
	int fd = journal_kept_open(pins, ending, O_RDONLY);

	return fd >= 0 ? fd : journal_open(pins, ending, O_RDONLY);
}

void journal_tail_open(struct journal_tail *tail, const char *pins)
{
	for (int i = 0; i < JOURNAL_TAILS; i++) {
		tail->fd[i] = file_open(pins, endings[i]);
		if (tail->fd[i] >= 0)
			lseek(tail->fd[i], 0, SEEK_END);
	}
}

void journal_tail_close(struct journal_tail *tail)
{
	for (int i = 0; i < JOURNAL_TAILS; i++) {
		if (tail->fd[i] >= 0)
			close(tail->fd[i]);
		tail->fd[i] = -1;
	}
}

static int line_visit(const char *line, journal_line_fn visit, void *arg)
{
	struct json_object *event = json_tokener_parse(line);
	int ret = 0;

	if (event && json_object_is_type(event, json_type_object))
		ret = visit(line, event, arg);
	json_object_put(event);
	return ret;
}

/* Whole lines only; the rest of one is read again. */
static int lines_read(int fd, journal_line_fn visit, void *arg)
{
	char text[2 * EVENT_JSON_MAX];
	ssize_t count;
	int ret = 0;

	while (!ret && (count = read(fd, text, sizeof(text))) > 0) {
		char *line = text, *end;

		while (!ret && (end = memchr(line, '\n', (size_t)(text + count - line)))) {
			*end = '\0';
			ret = line_visit(line, visit, arg);
			line = end + 1;
		}
		if (line == text && count == sizeof(text))
			continue; /* no event is so long */
		if (line < text + count)
			lseek(fd, line - (text + count), SEEK_CUR);
		if (line == text)
			break;
	}
	return ret;
}

/* The file that has the name now, if it is another one; else -1. */
static int next_open(const char *pins, const char *ending, int before)
{
	int fd = file_open(pins, ending);
	struct stat now, then;

	if (fd < 0 || before < 0)
		return fd;
	if (!fstat(fd, &now) && !fstat(before, &then) &&
	    (now.st_ino != then.st_ino || now.st_dev != then.st_dev))
		return fd;
	close(fd);
	return -1;
}

int journal_tail_poll(struct journal_tail *tail, const char *pins, journal_line_fn visit, void *arg)
{
	int ret = 0;

	for (int i = 0; !ret && i < JOURNAL_TAILS; i++) {
		int next = next_open(pins, endings[i], tail->fd[i]);

		if (tail->fd[i] >= 0)
			ret = lines_read(tail->fd[i], visit, arg);
		if (next < 0)
			continue;
		if (tail->fd[i] >= 0)
			close(tail->fd[i]);
		tail->fd[i] = next;
		if (!ret)
			ret = lines_read(next, visit, arg);
	}
	return ret;
}
