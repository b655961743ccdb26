// SPDX-License-Identifier: GPL-2.0-only
#include "cli/simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/units.h"
#include "policy/names.h"

/* Packets captured from several queues are out of order by milliseconds; limits treat them as on a
 * CPU whose clock is behind. Time goes further back only if the clock was set, or if captures were
 * concatenated. */
#define BACK_MAX_NS NS_PER_SECOND

/* How long after a state's last use its times compare correctly: bpf/algorithm/gcra.h. */
#define REACH_NS (1ull << 59)

bool epoch_ends(struct epoch *epoch, uint64_t number, uint64_t now_ns)
{
	bool back = now_ns < epoch->latest_ns && epoch->latest_ns - now_ns > BACK_MAX_NS;
	bool first = !epoch->begun;

	if (!first && !back && (now_ns < epoch->first_ns || now_ns - epoch->first_ns < REACH_NS)) {
		epoch->latest_ns = now_ns > epoch->latest_ns ? now_ns : epoch->latest_ns;
		return false;
	}
	if (!first && !epoch->jumps++) {
		epoch->jump_packet = number;
		epoch->jump_back = back;
		epoch->jump_ns = back ? epoch->latest_ns - now_ns : now_ns - epoch->latest_ns;
	}
	epoch->begun = true;
	epoch->first_ns = epoch->latest_ns = now_ns;
	return !first;
}

/* In the largest unit that fits, with a tenth below 10. */
static void jump_print(char *buf, size_t size, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {
		{365 * NS_PER_DAY, "year"}, {NS_PER_DAY, "day"},       {NS_PER_HOUR, "hour"},
		{NS_PER_MINUTE, "minute"},  {NS_PER_SECOND, "second"},
	};
	uint64_t tenths;
	size_t i = 0;

	while (i < sizeof(units) / sizeof(units[0]) - 1 && ns + units[i].ns / 100 < units[i].ns)
		i++;
	tenths = (ns + units[i].ns / 20) / (units[i].ns / 10);
	if (tenths < 100 && tenths % 10)
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " %ss", tenths / 10, tenths % 10,
			 units[i].name);
	else
		snprintf(buf, size, "%" PRIu64 " %s%s", tenths / 10, units[i].name,
			 tenths == 10 ? "" : "s");
}

void epoch_note(const struct epoch *epoch, const char *name, const char *then)
{
	char jump[64], more[64] = "";

	if (!epoch->jumps)
		return;
	jump_print(jump, sizeof(jump), epoch->jump_ns);
	if (epoch->jumps > 1)
		snprintf(more, sizeof(more), ", and at %" PRIu64 " more packet%s", epoch->jumps - 1,
			 epoch->jumps == 2 ? "" : "s");
	note("%s: time jumps %s by %s at packet %" PRIu64 "%s: %s", name,
	     epoch->jump_back ? "back" : "forward", jump, epoch->jump_packet, more, then);
}

void headers_note(uint64_t cut, const char *name, const char *then)
{
	if (cut)
		note("%s: %" PRIu64 " packet%s captured without all headers, %s: capture more "
		     "bytes of each packet",
		     name, cut, cut == 1 ? " was" : "s were", then);
}

void payload_note(uint64_t cut, const char *name)
{
	if (cut)
		note("%s: %" PRIu64
		     " packet%s captured without bytes that `payload` compares, so that it "
		     "did not match: capture more bytes of each packet",
		     name, cut, cut == 1 ? " was" : "s were");
}

void timestamps_note(const struct capture *capture)
{
	if (capture->skipped)
		note("%s: %" PRIu64
		     " packet%s skipped because of an invalid timestamp, the first is "
		     "packet %" PRIu64,
		     capture->name, capture->skipped, capture->skipped == 1 ? " was" : "s were",
		     capture->first_skipped);
}

/* Writes at least `width` digits, two per division. Returns the end. */
static char *digits_put(char *at, uint64_t n, int width)
{
	char digits[24];
	int len = 0;

	do {
		unsigned int pair = (unsigned int)(n % 100);

		n /= 100;
		digits[len++] = (char)('0' + pair % 10);
		digits[len++] = (char)('0' + pair / 10);
	} while (n || len < width);
	while (len > width && digits[len - 1] == '0')
		len--;
	while (len)
		*at++ = digits[--len];
	return at;
}

/* printf would take a third of the time of running the packet. */
void verdict_print(const struct captured *packet, uint64_t number,
		   const struct record_verdict *verdicts, int sides)
{
	char line[128], *at;

	at = digits_put(line, number, 1);
	*at++ = ' ';
	at = digits_put(at, packet->time_ns / NS_PER_SECOND, 1);
	*at++ = '.';
	at = digits_put(at, packet->time_ns % NS_PER_SECOND, 9);
	for (int i = 0; i < sides; i++) {
		const struct reason_row *row = &reason_rows[verdicts[i].reason];

		at = stpcpy(at, row->passes ? " pass " : " drop ");
		at = stpcpy(at, row->text);
	}
	*at++ = '\n';
	fwrite(line, 1, (size_t)(at - line), stdout);
}
