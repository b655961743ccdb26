// SPDX-License-Identifier: GPL-2.0-only
/* Captures are read three times: for their times, to learn, and to try what was learnt. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/progress.h"
#include "cli/simulate/capture_check.h"
#include "cli/suggest/suggest.h"
#include "watch/capture.h"
#include "watch/direction.h"

#define WARM_NS (60 * NS_PER_SECOND) /* the limits run so long before packets count */

/* One reading of a capture. */
struct reading {
	struct suggest *suggest;
	struct suggest_capture *of;
	struct capture capture;
	struct directions *directions;
	struct progress progress;
	struct suggest_trial *trial;
	uint64_t cut_ns, warm_ns; /* packets count from `cut` on, and are run from `warm` on */
	bool sent;                /* link headers say what was sent */
};

/* The packet's time is its place on the axis. 0: go on; 1: enough; < 0: error. */
typedef int packet_fn(struct reading *reading, const struct captured *packet);

static int packet_place(struct reading *reading, struct captured *packet)
{
	if (axis_place(&reading->of->axis, reading->capture.packets, packet->time_ns,
		       &packet->time_ns))
		return fail("out of memory");
	packet->time_ns += reading->of->shift_ns;
	return 0;
}

static int capture_read(struct reading *reading, packet_fn *each)
{
	struct captured packet = {0};
	int got = 0, ret = capture_open(reading->of->path, &reading->capture);

	if (ret)
		return ret;
	axis_clear(&reading->of->axis);
	if (!reading->capture.size)
		ret = fail("%s: can be read only once: write the capture to a file",
			   reading->of->path);
	while (!ret && (got = capture_next(&reading->capture, &packet)) > 0) {
		ret = packet_place(reading, &packet);
		ret = ret ? ret : each(reading, &packet);
		if (progress_due(&reading->progress))
			progress_draw(reading->capture.packets, "packets",
				      capture_permille(&reading->capture));
	}
	progress_end();
	capture_close(&reading->capture);
	return ret < 0 || got < 0 ? -1 : 0;
}

/* Which packets an instance would see. */
static bool arrives(struct suggest *s, const struct captured *captured,
		    const struct local_packet *packet)
{
	if (s->local.stack)
		return local_way_of(&s->local.addresses, captured, packet) == LOCAL_ARRIVES;
	return !captured->sent;
}

/* ---- the times */

static int packet_survey(struct reading *reading, const struct captured *packet)
{
	struct suggest_capture *of = reading->of;
	struct local_packet local;

	of->packets++;
	reading->sent |= packet->sent;
	directions_count(reading->directions, packet);
	local_packet_parse(packet, &local);
	of->cut += local.malformed && packet->size < packet->bytes;
	if (!arrives(reading->suggest, packet, &local))
		return 0;
	if (!of->arrived++)
		of->first_ns = of->last_ns = packet->time_ns;
	of->first_ns = packet->time_ns < of->first_ns ? packet->time_ns : of->first_ns;
	of->last_ns = packet->time_ns > of->last_ns ? packet->time_ns : of->last_ns;
	return 0;
}

static int survey_check(const struct reading *reading)
{
	const struct suggest_capture *of = reading->of;

	if (!of->packets)
		return fail("%s: no packets: capture while clients are served", of->path);
	if (!of->arrived && reading->suggest->local.stack)
		return fail(
			"%s: no packet arrives at the addresses of --local: `tcpdump -nr %s` lists "
			"them",
			of->path, of->path);
	if (!of->arrived)
		return fail("%s: all packets were sent by the machine: capture what arrives, with "
			    "`tcpdump -Q in`",
			    of->path);
	if (!reading->suggest->local.stack && !reading->sent &&
	    directions_both(reading->directions))
		return fail("%s: the capture seems to have both directions: give the machine's "
			    "addresses with --local, or capture with `tcpdump -Q in`",
			    of->path);
	return 0;
}

static void survey_note(const struct suggest_capture *of, const struct capture *capture)
{
	headers_note(of->cut, of->path, "not learnt from");
	timestamps_note(capture);
	epoch_note(&of->axis.epoch, of->path, "what follows is put right behind what came before");
}

static int capture_survey(struct suggest *s, struct suggest_capture *of)
{
	struct reading reading = {.suggest = s, .of = of, .directions = directions_new()};
	int ret;

	if (!reading.directions)
		return fail("out of memory");
	progress_begin(&reading.progress);
	ret = capture_read(&reading, packet_survey);
	if (!ret)
		ret = survey_check(&reading);
	if (!ret)
		survey_note(of, &reading.capture);
	directions_free(reading.directions);
	return ret;
}

static int by_time(const void *a, const void *b)
{
	const struct suggest_capture *x = a, *y = b;

	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static int span_check(const struct suggest *s)
{
	char all[NUMBER_TEXT_MAX], cut[NUMBER_TEXT_MAX];

	if (s->span_ns < NS_PER_SECOND)
		return fail("suggest: all packets are of the same second: capture %u s at least, "
			    "better ten minutes",
			    SUGGEST_SECONDS_MIN);
	wait_print(all, s->span_ns);
	wait_print(cut, s->cut_ns);
	if (s->span_ns < SUGGEST_SECONDS_MIN * NS_PER_SECOND)
		return fail(
			"suggest: %s of packets is too short: capture %u s at least, better ten "
			"minutes",
			all, SUGGEST_SECONDS_MIN);
	if (s->cut_ns < SUGGEST_SECONDS_MIN * NS_PER_SECOND)
		return fail("suggest: %s of packets is too short to hold %u %% of it out, as %s "
			    "remain: capture more, or give --hold-out 0",
			    all, s->hold_out, cut);
	return 0;
}

/* End to end. */
static void captures_place(struct suggest *s)
{
	uint64_t end_ns = s->captures[0].first_ns;

	s->begin_ns = end_ns;
	for (size_t i = 0; i < s->capture_count; i++) {
		struct suggest_capture *of = &s->captures[i];

		of->shift_ns = axis_shift(of->first_ns, end_ns);
		end_ns = of->last_ns + of->shift_ns;
	}
	s->span_ns = end_ns - s->begin_ns;
	s->cut_ns = s->span_ns / 100 * (100 - s->hold_out);
}

static int captures_survey(struct suggest *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->capture_count && !ret; i++)
		ret = capture_survey(s, &s->captures[i]);
	if (ret)
		return ret;
	qsort(s->captures, s->capture_count, sizeof(*s->captures), by_time);
	captures_place(s);
	return span_check(s);
}

uint64_t suggest_clock(const struct suggest *s, uint32_t seconds)
{
	uint64_t at_ns = s->seen.begin_ns + seconds * NS_PER_SECOND;
	const struct suggest_capture *of = s->captures;

	if (!of)
		return at_ns;
	for (size_t i = 1; i < s->capture_count; i++)
		if (s->captures[i].first_ns + s->captures[i].shift_ns <= at_ns)
			of = &s->captures[i];
	return axis_clock(&of->axis, at_ns - of->shift_ns);
}

void suggest_captures_clear(struct suggest *s)
{
	for (size_t i = 0; i < s->capture_count; i++)
		axis_clear(&s->captures[i].axis);
	free(s->captures);
}

/* ---- learning */

int suggest_learn(struct suggest *s, const struct captured *captured, uint64_t packets)
{
	struct seen_packet packet = {.time_ns = captured->time_ns, .weight = packets};
	struct local_packet local;
	int ret;

	local_packet_parse(captured, &local);
	if (!local.has_addresses || local.malformed)
		return 0;
	memcpy(packet.source, local.src, sizeof(packet.source));
	packet.proto = local.proto;
	packet.port = local.dport;
	packet.has_ports = local.has_ports;
	packet.fragment = local.fragment;
	packet.later = local.later;
	packet.asks = local.kind == LOCAL_TCP && (local.flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	packet.bytes = captured->bytes;
	ret = seen_add(&s->seen, &packet);
	if (ret == -E2BIG)
		return fail("suggest: more than is kept of %s: suggest from a shorter time",
			    s->rate ? "the device" : "the captures");
	return ret ? fail("out of memory") : 0;
}

static int packet_learn(struct reading *reading, const struct captured *packet)
{
	struct local_packet local;

	if (packet->time_ns >= reading->cut_ns)
		return 0;
	local_packet_parse(packet, &local);
	return arrives(reading->suggest, packet, &local)
		       ? suggest_learn(reading->suggest, packet, 1)
		       : 0;
}

/* The place from which on packets are held out. */
static uint64_t place_of_cut(const struct suggest *s)
{
	return s->hold_out ? s->begin_ns + s->cut_ns : UINT64_MAX;
}

int suggest_suffices(const struct suggest *s)
{
	if (s->seen.packets >= SUGGEST_PACKETS_MIN)
		return 0;
	return fail("suggest: %" PRIu64
		    " packets are too few to learn from: %s until there are %u, better for "
		    "ten minutes on a busy day",
		    s->seen.packets, s->rate ? "watch" : "capture", SUGGEST_PACKETS_MIN);
}

int suggest_conclude(struct suggest *s, uint64_t watched_ns)
{
	const struct suggest_options options = {
		.headroom = s->headroom,
		.seconds = (uint32_t)(watched_ns / NS_PER_SECOND),
	};

	return suggest_make(&s->seen, &options, &s->suggestion) ? fail("out of memory") : 0;
}

static int captures_learn(struct suggest *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->capture_count && !ret; i++) {
		struct suggest_capture *of = &s->captures[i];
		struct reading reading = {.suggest = s, .of = of, .cut_ns = place_of_cut(s)};

		progress_begin(&reading.progress);
		if (of->first_ns + of->shift_ns < reading.cut_ns)
			ret = capture_read(&reading, packet_learn);
	}
	if (!ret && !s->seen.packets)
		ret = fail(
			"suggest: no IP packets to learn from: `tcpdump -nr FILE` shows what there is");
	ret = ret ? ret : suggest_suffices(s);
	return ret ? ret : suggest_conclude(s, s->cut_ns);
}

/* ---- trying */

static int packet_try(struct reading *reading, const struct captured *packet)
{
	if (packet->time_ns < reading->warm_ns)
		return 0;
	return suggest_trial_run(reading->trial, packet, packet->time_ns >= reading->cut_ns);
}

static int captures_try(struct suggest *s)
{
	uint64_t cut_ns = place_of_cut(s), before = s->cut_ns < WARM_NS ? s->cut_ns : WARM_NS;
	struct suggest_trial *trial = NULL;
	int ret = suggest_trial_open(s, &s->local, cut_ns - before, &trial);

	for (size_t i = 0; i < s->capture_count && !ret; i++) {
		struct suggest_capture *of = &s->captures[i];
		struct reading reading = {.suggest = s,
					  .of = of,
					  .trial = trial,
					  .cut_ns = cut_ns,
					  .warm_ns = cut_ns - before};

		progress_begin(&reading.progress);
		if (of->last_ns + of->shift_ns >= reading.warm_ns)
			ret = capture_read(&reading, packet_try);
	}
	if (!ret)
		ret = suggest_trial_outcome(trial, &s->held_out);
	s->held_out.seconds = (s->span_ns - s->cut_ns) / NS_PER_SECOND;
	suggest_trial_close(trial);
	return ret;
}

int suggest_from_captures(struct suggest *s)
{
	int ret = captures_survey(s);

	ret = ret ? ret : captures_learn(s);
	return ret || !s->hold_out ? ret : captures_try(s);
}

/* ---- the attack */

static int packet_attack(struct reading *reading, const struct captured *packet)
{
	struct suggest_capture *of = reading->of;

	if (!of->packets++)
		of->first_ns = packet->time_ns;
	of->last_ns = packet->time_ns > of->last_ns ? packet->time_ns : of->last_ns;
	directions_count(reading->directions, packet);
	reading->sent |= packet->sent;
	if (!reading->trial &&
	    suggest_trial_open(reading->suggest, NULL, packet->time_ns, &reading->trial))
		return -1;
	return suggest_trial_run(reading->trial, packet, true);
}

static int packet_skip(struct reading *reading, const struct captured *packet)
{
	(void)packet;
	reading->of->packets++;
	return 1;
}

int suggest_attack_check(struct suggest *s)
{
	struct suggest_capture of = {.path = s->attack_path};
	struct reading reading = {.suggest = s, .of = &of};
	int ret = capture_read(&reading, packet_skip);

	if (!ret && !of.packets)
		ret = fail("%s: no packets: give a capture of the attack", of.path);
	axis_clear(&of.axis);
	return ret;
}

int suggest_attack(struct suggest *s)
{
	struct suggest_capture of = {.path = s->attack_path};
	struct reading reading = {.suggest = s, .of = &of, .directions = directions_new()};
	int ret;

	if (!reading.directions)
		return fail("out of memory");
	progress_begin(&reading.progress);
	ret = capture_read(&reading, packet_attack);
	if (!ret)
		ret = suggest_trial_outcome(reading.trial, &s->attack);
	s->attack.seconds = (of.last_ns - of.first_ns) / NS_PER_SECOND;
	if (!ret && !reading.sent && directions_both(reading.directions))
		note("%s: the capture seems to have both directions, and all of it was run as arriving: "
		     "capture with `tcpdump -Q in`",
		     of.path);
	axis_clear(&of.axis);
	suggest_trial_close(reading.trial);
	directions_free(reading.directions);
	return ret;
}
