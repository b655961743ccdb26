// SPDX-License-Identifier: GPL-2.0-only
/* Pieces of a page. */
#include "cli/report/html.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/parser.h"

/* One byte of plain text. */
static void put_plain(FILE *out, char c)
{
	switch (c) {
	case '&':
		fputs("&amp;", out);
		break;
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	case '\'':
		fputs("&#39;", out);
		break;
	default:
		fputc(c, out);
	}
}

void html_text(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		size_t plain = plain_length(text, end);
		char escaped[5];

		for (size_t i = 0; i < plain; i++)
			put_plain(out, text[i]);
		text += plain;
		if (text == end)
			return;
		snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned char)*text++);
		fputs(escaped, out);
	}
}

void html_number(FILE *out, uint64_t n)
{
	char text[NUMBER_TEXT_MAX];

	number_print(text, n);
	fprintf(out, "<data value=\"%" PRIu64 "\">%s</data>", n, text);
}

void html_bytes(FILE *out, uint64_t bytes)
{
	char text[NUMBER_TEXT_MAX];

	size_print(text, bytes);
	fprintf(out, "<data value=\"%" PRIu64 "\">%s</data>", bytes, text);
}

void html_share(FILE *out, uint64_t part, uint64_t all)
{
	uint64_t permille;

	if (!all) {
		fputs("-", out);
		return;
	}
	permille = (uint64_t)(((unsigned __int128)part * 1000 + all / 2) / all);
	if (part && !permille)
		fputs("&lt; 0.1 %", out);
	else if (part < all && permille == 1000)
		fputs("&gt; 99.9 %", out);
	else
		fprintf(out, "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
}

void rate_text(char buf[HTML_RATE_MAX], uint64_t packets, uint64_t ns)
{
	uint64_t tenths =
		(uint64_t)(((unsigned __int128)packets * 10 * NS_PER_SECOND + ns / 2) / ns);
	char text[NUMBER_TEXT_MAX];

	if (tenths < 100 && tenths % 10) {
		snprintf(buf, HTML_RATE_MAX, "%" PRIu64 ".%" PRIu64 "/s", tenths / 10, tenths % 10);
		return;
	}
	number_print(text, (tenths + 5) / 10);
	snprintf(buf, HTML_RATE_MAX, "%s/s", text);
}

void clock_text(char buf[HTML_TIME_MAX], uint64_t time_ns, uint64_t step_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	const char *format = step_ns < NS_PER_MINUTE ? "%H:%M:%S"
			     : step_ns < NS_PER_DAY  ? "%H:%M"
						     : "%F";
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(buf, HTML_TIME_MAX, format, &tm);
	if (step_ns < NS_PER_SECOND)
		snprintf(buf + len, HTML_TIME_MAX - len, ".%03" PRIu64,
			 (uint64_t)(time_ns % NS_PER_SECOND / NS_PER_MS));
}
