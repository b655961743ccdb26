// SPDX-License-Identifier: GPL-2.0-only
/* Captures are put end to end in order of their first packets. Where a clock jumps or pauses for
 * long, what follows is put right after what came before, by whole seconds. */
#include <stdlib.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/simulate/simulate.h"
#include "cli/suggest/suggest.h"
#include "kernel/scope.h"
#include "watch/capture/capture.h"

/* A machine of which nothing was captured for so long was not captured then. */
#define PAUSE_NS NS_PER_HOUR

struct file {
	const char *path;
	uint64_t first_ns;
};

/* One axis of time for all captures. */
struct reading {
	struct suggest *suggest;
	struct simulate_local local;
	uint64_t end_ns;            /* the latest place so far */
	uint64_t first_ns, last_ns; /* of packets that arrive */
	uint64_t arrived;

	struct epoch epoch; /* from here on: the capture that is read */
	struct directions *directions;
	uint64_t before; /* `arrived` */
	uint64_t cut;    /* packets without all headers */
	bool sent;       /* link headers say what was sent */
};

/* ---- time */

/* Moves the time by whole seconds (modulo 2^64) so that it is not before the end so far. */
static void stretch_add(struct reading *reading, uint64_t time_ns)
{
	struct suggest *s = reading->suggest;
	uint64_t end_ns = reading->end_ns, shift = 0;

	if (s->stretch_count)
		shift = (end_ns / NS_PER_SECOND - time_ns / NS_PER_SECOND +
			 (time_ns % NS_PER_SECOND < end_ns % NS_PER_SECOND)) *
			NS_PER_SECOND;
	s->stretches = xreallocarray(s->stretches, s->stretch_count + 1, sizeof(*s->stretches));
	s->stretches[s->stretch_count++] =
		(struct stretch){.at_ns = time_ns + shift, .ahead_ns = 0 - shift};
}

static void packet_place(struct reading *reading, uint64_t number, struct captured *packet)
{
	struct suggest *s = reading->suggest;
	struct epoch *epoch = &reading->epoch;
	bool first = !epoch->begun;
	bool pause =
		packet->time_ns > epoch->latest_ns && packet->time_ns - epoch->latest_ns > PAUSE_NS;
	bool jump = epoch_ends(epoch, number, packet->time_ns);

	if (first || jump || pause)
		stretch_add(reading, packet->time_ns);
	packet->time_ns -= s->stretches[s->stretch_count - 1].ahead_ns;
	if (packet->time_ns > reading->end_ns)
		reading->end_ns = packet->time_ns;
}

/* ---- packets */

/* Which packets an instance would see. */
static bool arrives(struct reading *reading, const struct captured *captured,
		    const struct local_packet *packet)
{
	if (reading->local.stack)
		return local_way_of(&reading->local.addresses, captured, packet) == LOCAL_ARRIVES;
	return !captured->sent;
}

static int packet_learn(struct reading *reading, uint64_t number, struct captured *packet)
{
	struct local_packet local;

	packet_place(reading, number, packet);
	reading->sent |= packet->sent;
	directions_count(reading->directions, packet);
	local_packet_parse(packet, &local);
	reading->cut += local.malformed && packet->size < packet->bytes;
	if (!arrives(reading, packet, &local))
		return 0;
	if (!reading->arrived++ || packet->time_ns < reading->first_ns)
		reading->first_ns = packet->time_ns;
	if (packet->time_ns > reading->last_ns)
		reading->last_ns = packet->time_ns;
	return suggest_learn(reading->suggest, packet, &local, 1);
}

static int capture_check(const struct reading *reading, const char *path)
{
	bool none = reading->arrived == reading->before;

	if (none && reading->local.stack)
		return fail(
			"%s: no packet arrives at the addresses of --local: `tcpdump -nr %s` lists "
			"them",
			path, path);
	if (none)
		return fail("%s: all packets were sent by the machine: capture what arrives, with "
			    "`tcpdump -Q in`",
			    path);
	if (!reading->local.stack && !reading->sent && directions_both(reading->directions))
		return fail("%s: the capture seems to have both directions: give the machine's "
			    "addresses with --local, or capture with `tcpdump -Q in`",
			    path);
	return 0;
}

static int capture_learn(struct reading *reading, const char *path)
{
	struct progress progress;
	struct captured packet;
	struct capture capture;
	int got = 0, ret = capture_open(path, &capture);

	if (ret)
		return ret;
	reading->epoch = (struct epoch){0};
	reading->before = reading->arrived;
	reading->cut = 0;
	reading->sent = false;
	reading->directions = directions_new();
	if (!reading->directions)
		ret = fail("out of memory");
	progress_begin(&progress);
	while (!ret && (got = capture_next(&capture, &packet)) > 0) {
		ret = packet_learn(reading, capture.packets, &packet);
		if (progress_due(&progress))
			progress_draw(capture.packets, "packets", capture_permille(&capture));
	}
	progress_end();
	capture_close(&capture);
	ret = ret || got < 0 ? -1 : capture_check(reading, path);
	directions_free(reading->directions);
	if (ret)
		return ret;
	headers_note(reading->cut, path, "not learnt from");
	timestamps_note(&capture);
	epoch_note(&reading->epoch, path, "what follows is put right after what came before");
	return 0;
}

/* ---- files */

static int file_peek(struct file *file)
{
	struct captured packet = {0};
	struct capture capture;
	int got = -1, ret = capture_open(file->path, &capture);

	if (ret)
		return ret;
	if (!capture.size)
		fail("%s: can be read only once: write the capture to a file", file->path);
	else
		got = capture_next(&capture, &packet);
	if (!got)
		fail("%s: no packets: capture while clients are served", file->path);
	file->first_ns = packet.time_ns;
	capture_close(&capture);
	return got > 0 ? 0 : -1;
}

static int by_time(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static int span_check(const struct suggest *s)
{
	if (s->watched_ns < NS_PER_SECOND)
		return fail("suggest: all packets are of the same second: capture %u s at least, "
			    "better ten minutes",
			    SUGGEST_SECONDS_MIN);
	if (s->watched_ns < SUGGEST_SECONDS_MIN * NS_PER_SECOND)
		return fail(
			"suggest: %s of packets is too short: capture %u s at least, better ten "
			"minutes",
			wait_text(s->watched_ns), SUGGEST_SECONDS_MIN);
	if (!s->seen.packets)
		return fail(
			"suggest: no IP packets to learn from: `tcpdump -nr FILE` shows what there is");
	return 0;
}

int suggest_from_captures(struct suggest *s)
{
	struct reading reading = {.suggest = s};
	size_t count = 1 + (size_t)s->command->word_count;
	FREED struct file *files = xcalloc(count, sizeof(*files));
	int ret = simulate_local_open(s->command, &reading.local);
	for (size_t i = 0; i < count && !ret; i++) {
		files[i].path =
			i ? s->command->words[i - 1] : s->command->arguments[OPTION_CAPTURE];
		ret = file_peek(&files[i]);
	}
	if (!ret)
		qsort(files, count, sizeof(*files), by_time);
	for (size_t i = 0; i < count && !ret; i++)
		ret = capture_learn(&reading, files[i].path);
	s->watched_ns = reading.last_ns - reading.first_ns;
	ret = ret ? ret : span_check(s);
	simulate_local_close(&reading.local);
	return ret;
}
