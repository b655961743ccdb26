// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate: a policy over a capture. The policy comes into force with the first packet; all
 * time is the capture's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"
#include "output_stats.h"
#include "progress.h"
#include "units.h"

#define BUFFER_BYTES (1u << 16)

struct run {
	struct capture capture;
	struct simulation *simulation;
	struct progress progress;
	bool verdicts;
	uint64_t cut; /* malformed for want of headers that the capture does not have */
};

/* At least `width` digits. Returns the end. Two at a time, for a division waits for the one before.
 */
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

/* "NUMBER SECONDS.NANOSECONDS pass|drop REASON". Without printf, which would cost a third of what
 * running the packet does. */
static void print_verdict(const struct run *run, const struct captured *packet,
			  enum rl_reason reason)
{
	const struct reason_row *row = &reason_rows[reason];
	char line[128], *at;

	at = digits_put(line, run->capture.packets, 1);
	*at++ = ' ';
	at = digits_put(at, packet->time_ns / NS_PER_SECOND, 1);
	*at++ = '.';
	at = digits_put(at, packet->time_ns % NS_PER_SECOND, 9);
	at = stpcpy(at, row->passes ? " pass " : " drop ");
	at = stpcpy(at, row->text);
	*at++ = '\n';
	fwrite(line, 1, (size_t)(at - line), stdout);
}

/* 0, or below: failed, also where nobody reads the verdicts any more. */
static int packet_run(struct run *run, const struct captured *packet)
{
	enum rl_reason reason;
	int rc = simulation_run(run->simulation, packet, &reason);

	if (rc)
		return rc;
	if (reason == RL_REASON_MALFORMED && packet->size < packet->bytes)
		run->cut++;
	if (run->verdicts) {
		print_verdict(run, packet, reason);
		if (ferror(stdout))
			return output_flush();
	}
	if (progress_due(&run->progress))
		progress_draw(run->capture.packets, "packets", capture_permille(&run->capture));
	return 0;
}

/* A bar, unless the lines show how far it is. */
static void talk_prepare(struct run *run)
{
	static char buffer[BUFFER_BYTES]; /* of stdout, to the program's end */

	progress_begin(&run->progress);
	if (!run->verdicts)
		return;
	if (isatty(STDOUT_FILENO))
		run->progress.wanted = false;
	else
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
}

static int capture_run(struct run *run, struct policy *policy, const char *file)
{
	struct captured packet = {0};
	int got, rc;

	talk_prepare(run);
	got = capture_next(&run->capture, &packet);
	if (got < 0)
		return got;
	rc = simulation_open(policy, packet.time_ns, file, &run->simulation);
	while (!rc && got > 0) {
		rc = packet_run(run, &packet);
		got = rc ? rc : capture_next(&run->capture, &packet);
	}
	progress_end();
	return got < 0 ? got : rc;
}

static int print_sums(const struct run *run)
{
	const struct instance *instance = simulation_instance(run->simulation);
	struct json_object *object;
	uint64_t packets = run->capture.packets - run->capture.skipped;
	struct instance_stats stats;
	char count[NUMBER_TEXT_MAX];
	int rc = simulation_stats_read(run->simulation, &stats);

	if (rc)
		return rc;
	if (output_json) {
		object = json_object_new_object();
		json_put(object, "packets", json_object_new_uint64(packets));
		json_put_stats(object, instance, &stats);
		json_print(object);
	} else {
		number_print(count, packets);
		printf("%s packet%s\n", count, packets == 1 ? "" : "s");
		stats_print_sums(instance, &stats);
	}
	instance_stats_clear(&stats);
	return 0;
}

/* What an operator has to know of the capture to read the result right. */
static void notes_print(const struct run *run)
{
	const struct capture *capture = &run->capture;

	if (run->cut)
		note("%s: %" PRIu64 " packets were captured without all of their headers and "
		     "count as malformed: capture more of each packet",
		     capture->name, run->cut);
	if (capture->skipped)
		note("%s: %" PRIu64 " packet%s skipped for an invalid time stamp, the first is "
		     "packet %" PRIu64,
		     capture->name, capture->skipped, capture->skipped == 1 ? " was" : "s were",
		     capture->first_skipped);
}

static int simulate(struct run *run, const struct policy_file *file, const char *path)
{
	const struct policy_context ctx = {.mtu = 1500};
	struct policy policy = {0};
	int rc = policy_file_parse(file, &ctx, &policy);

	if (!rc)
		rc = capture_open(path, &run->capture);
	if (!rc)
		rc = capture_run(run, &policy, file->name);
	if (!rc && !run->verdicts)
		rc = print_sums(run);
	if (!rc)
		notes_print(run);
	simulation_close(run->simulation);
	capture_close(&run->capture);
	policy_clear(&policy);
	return rc;
}

int cmd_simulate(const struct command *command)
{
	struct run run = {.verdicts = option_given(command, OPTION_VERDICTS)};
	struct policy_file file;
	int rc;

	if (!strcmp(command->words[0], "-") && !strcmp(command->words[1], "-"))
		return wrong("simulate: standard input cannot be both policy and capture");
	rc = policy_file_read(command->words[0], &file);
	if (rc)
		return rc;
	rc = simulate(&run, &file, command->words[1]);
	policy_file_clear(&file);
	return rc;
}
