/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers, sizes and times as text for people, always terminated; and text from outside as
 * printable ASCII, so that no name of a file or a device can play with a terminal. units.h has the
 * text of the policy language. */
#ifndef RLCTL_TEXT_H
#define RLCTL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

static inline bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

/* As \xNN where it is not printable ASCII. Returns the length: 1 or 4. */
int byte_escape(char out[5], char c);

/* The whole text so; to be freed. NULL: out of memory. */
char *text_escape(const char *text);

#define NUMBER_TEXT_MAX 64
/* 1,234,567 whatever the locale */
void number_print(char buf[NUMBER_TEXT_MAX], uint64_t n);
/* 1.5 MiB */
void size_print(char buf[NUMBER_TEXT_MAX], uint64_t bytes);
/* CLOCK_REALTIME as ISO 8601: 2026-11-20T06:06:11Z, or with the local time zone's offset */
void time_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns, bool local);

#endif
