// SPDX-License-Identifier: GPL-2.0-only
/* Numbers, sizes and times as text. */

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

int byte_escape(char out[5], char c)
{
	if (!is_printable(c))
		return snprintf(out, 5, "\\x%02x", (unsigned char)c);
	out[0] = c;
	out[1] = '\0';
	return 1;
}

char *text_escape(const char *text)
{
	char *out = malloc(strlen(text) * 4 + 1), *at = out;

	for (; out && *text; text++)
		at += byte_escape(at, *text);
	if (out)
		*at = '\0';
	return out;
}

uint64_t text_hash(const char *text, uint64_t hash)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash;
}

void number_print(char buf[NUMBER_TEXT_MAX], uint64_t n)
{
	char digits[NUMBER_TEXT_MAX];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		*buf++ = digits[i];
		if (i + 1 < len && (len - i) % 3 == 1)
			*buf++ = ',';
	}
	*buf = '\0';
}

void size_print(char buf[NUMBER_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 " B", bytes);
		return;
	}
	for (; bytes >= 1024 * 1024 && unit < 3; unit++)
		bytes /= 1024;
	snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", bytes / 1024,
		 bytes % 1024 * 10 / 1024, units[unit]);
}

void wait_print(char buf[NUMBER_TEXT_MAX], uint64_t ns)
{
	static const struct {
		uint64_t seconds;
		char name;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	uint64_t left = (ns - 1) / NS_PER_SECOND + 1, rest = 0;
	size_t i = 0;
	int len;

	if (ns < 10 * NS_PER_SECOND) {
		duration_print(buf, NUMBER_TEXT_MAX, (ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS);
		return;
	}
	while (left < units[i].seconds)
		i++;
	len = snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 "%c", left / units[i].seconds,
		       units[i].name);
	if (units[i].seconds > 1)
		rest = left % units[i].seconds / units[i + 1].seconds;
	if (rest)
		snprintf(buf + len, NUMBER_TEXT_MAX - len, " %" PRIu64 "%c", rest,
			 units[i + 1].name);
}

const char *text_of(uint64_t n, void (*print)(char buf[NUMBER_TEXT_MAX], uint64_t n))
{
	static _Thread_local char texts[8][NUMBER_TEXT_MAX];
	static _Thread_local unsigned int next;
	char *text = texts[next++ % 8];

	print(text, n);
	return text;
}

const char *number_text(uint64_t n)
{
	return text_of(n, number_print);
}

const char *size_text(uint64_t bytes)
{
	return text_of(bytes, size_print);
}

const char *wait_text(uint64_t ns)
{
	return text_of(ns, wait_print);
}

void time_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns, bool local)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_SECOND);
	char zone[8];
	struct tm tm;
	size_t len;

	if (!local) {
		gmtime_r(&seconds, &tm);
		strftime(buf, NUMBER_TEXT_MAX, "%FT%TZ", &tm);
		return;
	}
	localtime_r(&seconds, &tm);
	len = strftime(buf, NUMBER_TEXT_MAX, "%FT%T", &tm);
	strftime(zone, sizeof(zone), "%z", &tm); /* +hhmm */
	snprintf(buf + len, NUMBER_TEXT_MAX - len, "%.3s:%s", zone, zone + 3);
}

void time_ns_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns)
{
	char utc[NUMBER_TEXT_MAX];

	time_print(utc, realtime_ns, false);
	snprintf(buf, NUMBER_TEXT_MAX, "%.*s.%09" PRIu64 "Z", (int)strcspn(utc, "Z"), utc,
		 (uint64_t)(realtime_ns % NS_PER_SECOND));
}

int time_parse(const char *text, uint64_t *realtime_ns)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	uint64_t unit = NS_PER_SECOND, ns = 0;

	if (end && *end == '.')
		while (*++end >= '0' && *end <= '9' && unit > 1)
			ns += (unit /= 10) * (*end - '0');
	if (!end || strcmp(end, "Z") != 0 || tm.tm_year < 70)
		return -EINVAL;
	*realtime_ns = (uint64_t)timegm(&tm) * NS_PER_SECOND + ns;
	return 0;
}
