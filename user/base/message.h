/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages and progress. Whatever is below user/cli prints nothing itself: it hands both to the
 * sink that the program sets, as libbpf does (libbpf_set_print). Without a sink nothing is shown.
 *
 * A function that reports says so in its header: it calls fail() once, where the cause is known,
 * with what to do about it, and returns a negative errno or -1. A silent one returns a negative
 * errno.
 */
#ifndef RLCTL_MESSAGE_H
#define RLCTL_MESSAGE_H

#include <stdarg.h>
#include <stdint.h>

enum message_kind {
	MESSAGE_ERROR,
	MESSAGE_NOTE,
	MESSAGE_LIBRARY, /* from libbpf or libxdp; may be several lines, and ends with a newline */
	MESSAGE_LIBRARY_DEBUG
};

/* `text` is not escaped: it may hold any byte that a file or a device has in its name. Both calls
 * may come from any thread. */
struct message_sink {
	void (*message)(enum message_kind kind, const char *text);
	/* `done` of what the noun names, in the plural. permille: how much of the whole, -1 where
	 * that is not known. Called often; noun NULL: it is over. May be NULL. */
	void (*progress)(uint64_t done, const char *noun, int permille);
};

/* The sink must live on; NULL takes it away. */
void message_sink_set(const struct message_sink *sink);

/* An error, as one line without its end. Returns -1, so that `return fail(...)` reads well. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the length of the text. */
int message_send(enum message_kind kind, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

void progress_report(uint64_t done, const char *noun, int permille);
void progress_over(void);

#endif
