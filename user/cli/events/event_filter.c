// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/event_json.h"

#define BIT(kind)                (1u << EVENT_##kind)

#define GROUP(name, text, group) group,
static const char *const groups[EVENT_KIND_COUNT] = {EVENT_KINDS(GROUP)};

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

static int only_read(const char *words, uint32_t *out)
{
	*out = 0;
	for (;;) {
		size_t len = strcspn(words, ",");
		uint32_t kinds = 0;

		for (int i = 0; i < EVENT_KIND_COUNT; i++)
			if (is_word(words, len, event_words[i]) || is_word(words, len, groups[i]))
				kinds |= 1u << i;
		if (!kinds)
			return wrong("invalid --only '%.*s': use drops, alarms, bans, sets, "
				     "changes, fleet, or events such as drops-begin, with commas",
				     (int)len, words);
		*out |= kinds;
		if (!words[len])
			return 0;
		words += len + 1;
	}
}

/* Local time, as `events` prints it, or that of a day or within the last one. */
static int local_parse(const char *word, uint64_t now_ns, uint64_t *out_ns)
{
	static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d",
					    "%H:%M:%S", "%H:%M"};
	time_t now = (time_t)(now_ns / NS_PER_SECOND), then;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		bool is_clock = forms[i][1] == 'H';
		struct tm tm = {0};
		const char *end;

		if (is_clock)
			localtime_r(&now, &tm);
		tm.tm_sec = 0;
		end = strptime(word, forms[i], &tm);
		if (!end || (*end && *end != '.') || strspn(end, ".0123456789") != strlen(end))
			continue;
		tm.tm_isdst = -1;
		then = mktime(&tm);
		if (is_clock && then > now) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			then = mktime(&tm);
		}
		if (then < 0)
			continue;
		*out_ns = (uint64_t)then * NS_PER_SECOND;
		return 0;
	}
	return -EINVAL;
}

int since_get(const struct command *command, uint64_t *out_ns)
{
	const char *word = command->arguments[OPTION_SINCE];
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), ago_ns;

	*out_ns = 0;
	if (!word || !time_parse(word, out_ns) || !local_parse(word, now_ns, out_ns))
		return 0;
	if (duration_parse(word, &ago_ns))
		return wrong("invalid --since '%s': use a duration such as 2h, or a time such as "
			     "21:00, '2026-11-24 21:00:00' or 2026-11-24T21:00:00Z",
			     word);
	*out_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
	return 0;
}

int event_filter_read(const struct command *command, struct event_filter *out)
{
	const char *only = command->arguments[OPTION_ONLY];
	int ret = since_get(command, &out->since_ns);

	out->kinds = ~0u;
	if (!ret && only)
		ret = only_read(only, &out->kinds);
	out->bans = out->kinds & (BIT(BAN_BEGIN) | BIT(LOST));
	return ret
		       ?: option_number(command, OPTION_PACKETS, UINT32_MAX - 1, UINT32_MAX,
					&out->count);
}

int event_kind_of(struct json_object *event)
{
	const char *word = event_member(event, "event");

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (!strcmp(word, event_words[i]))
			return i;
	return -1;
}

bool event_filter_takes(const struct event_filter *filter, struct json_object *event,
			uint64_t time_ns)
{
	int kind = event_kind_of(event);

	return time_ns >= filter->since_ns &&
	       (filter->kinds == ~0u || (kind >= 0 && filter->kinds & 1u << kind));
}
