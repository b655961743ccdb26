// SPDX-License-Identifier: GPL-2.0-only
/* `rlctl set add NAME -`: a running stream of addresses. Lines that have arrived are applied at
 * once, and together, at most every PACE_NS: each time invalidates the caches of packets. While
 * it waits for more, the instance is neither locked nor open.
 */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "cli/sets/set_parts.h"

#define PACE_NS   (10 * NS_PER_MS)
#define BATCH_MAX 16384 /* addresses; about 50 ms of the writers' lock */

struct stream {
	struct set_change *change;
	struct set_lines lines;
	int signals;
	uint64_t due_ns;   /* the next batch is not applied before */
	uint64_t first_ns; /* when the first address of the batch was read */
	uint64_t applied;  /* addresses */
};

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- waiting */

enum event { EVENT_INPUT, EVENT_SIGNAL, EVENT_DUE };

/* A signal counts more than input. An error of poll() is left to read(). */
static enum event stream_wait(const struct stream *stream)
{
	struct pollfd fds[] = {{.fd = stream->lines.fd, .events = POLLIN},
			       {.fd = stream->signals, .events = POLLIN}};
	uint64_t now = now_ns();
	int wait_ms = -1, count;

	if (stream->change->items.count)
		wait_ms = stream->due_ns > now
				  ? (int)((stream->due_ns - now + NS_PER_MS - 1) / NS_PER_MS)
				  : 0;
	count = poll(fds, 2, wait_ms);
	if (count > 0 && fds[1].revents)
		return EVENT_SIGNAL;
	return count ? EVENT_INPUT : EVENT_DUE;
}

/* ---- batches */

static void batch_note(const struct stream *stream, const struct member_result *before)
{
	const struct set_answer *answer = &stream->change->answers[0];
	const struct member_result *now = &answer->result;

	if (!output_verbose)
		return;
	if (set_verb_adds(stream->change->verb))
		note("%s:%" PRIu64 ": %zu added, %zu extended, %zu present, %zu refused",
		     stream->lines.name, stream->lines.line, now->added - before->added,
		     now->extended - before->extended, now->present - before->present,
		     now->refused - before->refused);
	else
		note("%s:%" PRIu64 ": %zu deleted, %zu not there", stream->lines.name,
		     stream->lines.line, now->deleted - before->deleted,
		     now->missing - before->missing);
}

static int batch_apply(struct stream *stream)
{
	struct set_change *change = stream->change;
	struct member_result before = change->answers[0].result;
	size_t count = change->items.count;
	int rc;

	if (!count)
		return 0;
	rc = set_guarded_apply(change);
	stream->due_ns = now_ns() + PACE_NS;
	stream->applied += count;
	change->host_bits = stream->lines.host_bits;
	if (set_change_is_over(change)) {
		fail("%s:%" PRIu64 ": stopped: the last %zu addresses may be missing, and what "
		     "follows was not read",
		     stream->lines.name, stream->lines.line, count);
		return rc;
	}
	batch_note(stream, &before);
	progress_report(stream->applied, "addresses", -1);
	return 0;
}

static int input_read(struct stream *stream)
{
	struct set_items *items = &stream->change->items;
	uint64_t now;

	if (!items->count)
		stream->first_ns = now_ns();
	if (set_lines_read(&stream->lines, items))
		return -1;
	now = now_ns();
	if (!items->count || (items->count < BATCH_MAX &&
			      (now < stream->due_ns || now - stream->first_ns < PACE_NS)))
		return 0;
	return batch_apply(stream);
}

int set_stream_run(struct set_change *change, uint64_t life_ns)
{
	struct stream stream = {.change = change};
	int rc = set_lines_open(&stream.lines, "-");

	if (rc)
		return rc;
	stream.lines.life_ns = life_ns;
	stream.signals = signals_open();
	while (!rc && !stream.lines.ended) {
		enum event event = stream_wait(&stream);

		if (event == EVENT_SIGNAL)
			break;
		rc = event == EVENT_INPUT ? input_read(&stream) : batch_apply(&stream);
	}
	if (!set_change_is_over(change)) {
		int last = batch_apply(&stream);

		rc = last ? last : rc;
	}
	change->host_bits = stream.lines.host_bits;
	progress_over();
	set_lines_close(&stream.lines);
	if (stream.signals >= 0)
		close(stream.signals);
	return rc ?: stream.lines.bad ? -1 : 0;
}
