/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages and progress. Code below user/cli does not print; it passes both to the sink that the
 * program sets, as libbpf does (libbpf_set_print). Without a sink nothing is shown.
 *
 * Headers mark functions: "Reports." calls fail() once, at the cause, with a remedy, and returns a
 * negative errno or -1. "Silent." only returns a negative errno.
 */
#pragma once

#include <stdarg.h>
#include <stdint.h>

enum message_kind {
	MESSAGE_ERROR,
	MESSAGE_NOTE,
	MESSAGE_LIBRARY, /* from libbpf or libxdp; one or several lines, each with its newline */
	MESSAGE_LIBRARY_DEBUG
};

/* `text` is not escaped: it may hold any byte of a file's or device's name. Both functions may be
 * called from any thread. */
struct message_sink {
	void (*message)(enum message_kind kind, const char *text);
	/* `done` items, named by the plural noun. permille: progress, or -1 if unknown. Called
	 * often; noun NULL: finished. The pointer may be NULL. */
	void (*progress)(uint64_t done, const char *noun, int permille);
};

/* The sink must stay valid; NULL removes it. Returns the former one. */
const struct message_sink *message_sink_set(const struct message_sink *sink);

/* Begins the error of what a small build leaves out: see LEFT_OUT in the Makefile. */
#define MINIMAL_LACKS(library) "this rlctl was built with MINIMAL=1, without " library ": "

/* An error, one line without newline. Returns -1, for `return fail(...)`. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, unless the text was noted so before, for another device, say; it remembers 32 texts. */
void note_once(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Between hold and release this thread's messages are kept, and progress is not shown: a terminal
 * or pipe that does not move must not hold up who waits for a lock. Calls may be nested. */
void message_hold(void);
void message_release(void);
/* Before this process ends: passes on whatever is still kept. */
void message_flush(void);

/* Returns the length of the text. */
int message_send(enum message_kind kind, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

void progress_report(uint64_t done, const char *noun, int permille);
void progress_over(void);
