/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers, sizes and times as text for people, always terminated; and untrusted text escaped to
 * printable ASCII, safe for a terminal. units.h has the text of the policy language. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <stdint.h>

/* Is it one of these characters? */
static inline bool is_one_of(char c, const char *characters)
{
	return c && strchr(characters, c);
}

static inline bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

/* \xNN if it is not printable ASCII. Returns the length: 1 or 4. */
int byte_escape(char out[5], char c);

/* Escapes the whole text; the caller frees it. NULL: out of memory. */
char *text_escape(const char *text);

/* FNV-1a, 64 bits, by G. Fowler, L. C. Noll and P. Vo; begins with `hash`. */
uint64_t text_hash(const char *text, uint64_t hash);

#define NUMBER_TEXT_MAX 64
/* 1,234,567, in any locale */
void number_print(char buf[NUMBER_TEXT_MAX], uint64_t n);
/* 1.5 MiB */
void size_print(char buf[NUMBER_TEXT_MAX], uint64_t bytes);
/* 1500ms, 59s, 9m 59s, 2d 5h: milliseconds below ten seconds, else the two largest units */
void wait_print(char buf[NUMBER_TEXT_MAX], uint64_t ns);
/* The same in buffers that take turns: valid until this thread has called them eight times more. */
const char *text_of(uint64_t n, void (*print)(char buf[NUMBER_TEXT_MAX], uint64_t n));
const char *number_text(uint64_t n);
const char *size_text(uint64_t bytes);
const char *wait_text(uint64_t ns);
/* "s", but for one */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
/* CLOCK_REALTIME in ISO 8601: 2026-11-20T06:06:11Z, or with the offset of the local time zone */
void time_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns, bool local);
/* In UTC with nanoseconds: 2026-11-20T06:06:11.123456789Z */
void time_ns_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns);
/* Reads what time_ns_print() prints, and UTC without a fraction. 0 or -EINVAL. */
int time_parse(const char *text, uint64_t *realtime_ns);
