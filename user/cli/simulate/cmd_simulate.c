// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate: runs a policy over a capture. The policy comes into force with the first packet;
 * all clocks follow the capture.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/captured.h"
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/output/stats_output.h"
#include "cli/policy/save_file.h"
#include "cli/progress.h"
#include "cli/report/page.h"
#include "cli/report/record.h"
#include "cli/simulate/simulate.h"
#include "kernel/instance/instance.h"
#include "kernel/simulation.h"
#include "kernel/state/stats.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/capture/capture.h"

#define BUFFER_BYTES (1u << 16)

/* A policy, and the machine that it runs on. */
struct side {
	const char *name; /* as it was given */
	struct policy_file file;
	struct policy policy;
	struct simulate_local local;
	struct simulation *simulation;
};

struct run {
	const struct command *command;
	struct epoch epoch;
	struct capture capture;
	struct simulate_batch batch;
	struct directions *directions;
	struct side sides[RECORD_SIDES]; /* the second is that of --against */
	int side_count;
	struct record record;
	const char *report; /* file of --report, or NULL */
	struct progress progress;
	bool verdicts;
	uint64_t cut;     /* malformed because the capture lacks headers */
	uint64_t without; /* bytes of the payload that a rule asks for */
};

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

/* "NUMBER SECONDS.NANOSECONDS pass|drop REASON", the last two for each side. printf would take a
 * third of the time of running the packet. */
static void print_verdict(const struct run *run, const struct captured *packet, uint64_t number,
			  const struct record_verdict *verdicts)
{
	char line[128], *at;

	at = digits_put(line, number, 1);
	*at++ = ' ';
	at = digits_put(at, packet->time_ns / NS_PER_SECOND, 1);
	*at++ = '.';
	at = digits_put(at, packet->time_ns % NS_PER_SECOND, 9);
	for (int i = 0; i < run->side_count; i++) {
		const struct reason_row *row = &reason_rows[verdicts[i].reason];

		at = stpcpy(at, row->passes ? " pass " : " drop ");
		at = stpcpy(at, row->text);
	}
	*at++ = '\n';
	fwrite(line, 1, (size_t)(at - line), stdout);
}

static int alarms_turn(const struct run *run, int side)
{
	return simulate_alarms_turn(run->command, &run->sides[side].policy,
				    run->sides[side].simulation);
}

/* All sides start over. */
static int sides_restart(struct run *run, uint64_t now_ns)
{
	int rc = record_restart(&run->record);

	for (int i = 0; !rc && i < run->side_count; i++) {
		simulate_local_restart(&run->sides[i].local);
		rc = simulation_restart(run->sides[i].simulation, now_ns);
		if (!rc)
			rc = alarms_turn(run, i);
	}
	return rc;
}

/* With --local the batch is one packet: whether the next is established depends on its verdict. */
static int side_run(const struct simulate_batch *batch, struct side *side, bool *ran,
		    struct simulated *out)
{
	int rc;

	*ran = true;
	if (!side->local.stack)
		return simulation_run_all(side->simulation, batch->packets, batch->count, out);
	rc = simulate_local_run(&side->local, side->simulation, batch->packets, ran, &out->reason);
	out->counter_id = simulation_counter_id(side->simulation);
	out->cut = simulation_is_cut(side->simulation);
	return rc;
}

/* Packet n of the batch has been run. 0 or < 0, also if standard output is closed. */
static int result_note(struct run *run, size_t n,
		       struct simulated results[RECORD_SIDES][SIMULATE_BATCH_MAX])
{
	const struct captured *packet = &run->batch.packets[n];
	struct record_verdict verdicts[RECORD_SIDES];
	bool cut = false;
	int rc;

	for (int i = 0; i < run->side_count; i++) {
		verdicts[i].reason = results[i][n].reason;
		verdicts[i].counter_id = results[i][n].counter_id;
		cut |= results[i][n].cut;
	}
	run->without += cut;
	rc = record_packet(&run->record, packet, verdicts);
	if (rc)
		return rc;
	if (verdicts[0].reason == RL_REASON_MALFORMED && packet->size < packet->bytes)
		run->cut++;
	if (!run->verdicts)
		return 0;
	print_verdict(run, packet, run->batch.numbers[n], verdicts);
	return ferror(stdout) ? output_flush() : 0;
}

/* Which packets arrive does not depend on the policy, so that all sides run the same ones. */
static int batch_run(struct run *run)
{
	struct simulated results[RECORD_SIDES][SIMULATE_BATCH_MAX];
	bool ran = true;
	int rc = 0;

	if (!run->batch.count)
		return 0;
	for (int i = 0; !rc && i < run->side_count; i++)
		rc = side_run(&run->batch, &run->sides[i], &ran, results[i]);
	for (size_t n = 0; !rc && ran && n < run->batch.count; n++)
		rc = result_note(run, n, results);
	simulate_batch_clear(&run->batch);
	return rc;
}

/* The packet waits for its batch, which runs before anything is read or cleared. */
static int packet_take(struct run *run, const struct captured *packet)
{
	bool ends = epoch_ends(&run->epoch, run->capture.packets, packet->time_ns);
	int rc = 0;

	directions_count(run->directions, packet);
	if (ends || record_turns(&run->record, packet->time_ns) ||
	    !simulate_batch_has_room(&run->batch, packet->size))
		rc = batch_run(run);
	if (!rc && ends)
		rc = sides_restart(run, packet->time_ns);
	if (!rc)
		rc = record_turn(&run->record, packet->time_ns);
	if (rc)
		return rc;
	simulate_batch_add(&run->batch, packet, run->capture.packets);
	if (run->batch.count == run->batch.limit)
		rc = batch_run(run);
	if (!rc && progress_due(&run->progress))
		progress_draw(run->capture.packets, "packets", capture_permille(&run->capture));
	return rc;
}

/* How many packets run together. Verdicts that somebody watches as packets come are not held up. */
static size_t batch_limit(const struct run *run)
{
	bool watched = run->verdicts && !run->capture.size && isatty(STDOUT_FILENO);

	return run->sides[0].local.stack || watched ? 1 : SIMULATE_BATCH_MAX;
}

/* Shows a progress bar, unless verdicts go to a terminal. */
static void output_prepare(struct run *run)
{
	static char buffer[BUFFER_BYTES]; /* stdout's until exit */

	progress_begin(&run->progress);
	if (!run->verdicts)
		return;
	if (isatty(STDOUT_FILENO))
		run->progress.wanted = false;
	else
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
}

/* The LRU maps keep their free entries by CPU: a run stays on one, so that what they evict when
 * they are full is the same every time. */
static void cpu_pin(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Puts the policies in force; records, where something is said of the packets over time or of two
 * policies. */
static int sides_open(struct run *run, uint64_t now_ns)
{
	bool recorded = run->report || run->side_count > 1;
	int rc = 0;

	for (int i = 0; !rc && i < run->side_count; i++) {
		struct side *side = &run->sides[i];

		rc = simulation_open(&side->policy, now_ns, &side->file.source, &side->simulation);
		if (!rc)
			rc = alarms_turn(run, i);
		if (!rc && recorded)
			rc = record_side_add(&run->record, side->name, &side->policy,
					     side->simulation);
	}
	return rc;
}

static int capture_run(struct run *run)
{
	struct captured packet = {0};
	int got, rc;

	output_prepare(run);
	got = capture_next(&run->capture, &packet);
	if (got < 0)
		return got;
	cpu_pin();
	rc = simulate_batch_open(&run->batch, batch_limit(run));
	if (!rc)
		rc = sides_open(run, packet.time_ns);
	while (!rc && got > 0) {
		rc = packet_take(run, &packet);
		got = rc ? rc : capture_next(&run->capture, &packet);
	}
	if (!rc)
		rc = batch_run(run);
	if (!rc && !got)
		rc = record_end(&run->record);
	progress_end();
	return got < 0 ? got : rc;
}

static uint64_t packets_run(const struct run *run)
{
	return run->capture.packets - run->capture.skipped -
	       simulate_local_not_run(&run->sides[0].local);
}

/* The document of -j. NULL: failed; reports. */
static struct json_object *json_sums(const struct run *run, const struct instance_stats *stats)
{
	const struct side *side = &run->sides[0];
	struct json_object *object = json_object_new_object();

	json_put_number(object, "packets", packets_run(run));
	json_put_stats(object, simulation_instance(side->simulation), stats);
	simulate_local_json(&side->local, object);
	if (run->side_count < 2 || !simulate_against_json(&run->record, object))
		return object;
	json_object_put(object);
	return NULL;
}

static int print_sums(const struct run *run, const struct instance_stats *stats)
{
	const struct side *side = &run->sides[0];
	uint64_t packets = packets_run(run);
	struct json_object *object;
	char count[NUMBER_TEXT_MAX];

	if (output_json) {
		object = json_sums(run, stats);
		if (object)
			json_print(object);
		return object ? 0 : -1;
	}
	number_print(count, packets);
	printf("%s packet%s\n", count, packets == 1 ? "" : "s");
	simulate_local_print(&side->local);
	stats_print_sums(simulation_instance(side->simulation), stats);
	return run->side_count > 1 ? simulate_against_print(&run->record) : 0;
}

static int report_save(const struct run *run, const struct instance_stats *stats)
{
	const struct page page = {
		.record = &run->record,
		.capture = run->capture.name,
		.not_run = simulate_local_not_run(&run->sides[0].local),
		.jumps = run->epoch.jumps,
	};
	struct json_object *document = json_sums(run, stats);

	if (!document)
		return -1;
	json_put(document, "report", page_json(&page));
	return page_save(PAGE_SIMULATION, document, run->report);
}

static int results_print(const struct run *run)
{
	struct instance_stats stats;
	int rc;

	if (run->verdicts && !run->report)
		return 0;
	rc = simulation_stats_read(run->sides[0].simulation, &stats);
	if (rc)
		return rc;
	if (!run->verdicts)
		rc = print_sums(run, &stats);
	if (!rc && run->report)
		rc = report_save(run, &stats);
	instance_stats_clear(&stats);
	return rc;
}

/* Notes about the capture that affect the result. */
static void notes_print(const struct run *run)
{
	const struct capture *capture = &run->capture;
	const struct side *side = &run->sides[0];

	simulate_local_note(&side->local, &side->policy, capture->name);
	if (!side->local.stack && directions_both(run->directions))
		note("%s: the capture seems to have both directions, but an instance sees only packets "
		     "that arrive: capture with `tcpdump -Q in`, or give the machine's addresses with --local",
		     capture->name);
	headers_note(run->cut, capture->name, "counted as malformed");
	payload_note(run->without, capture->name);
	timestamps_note(capture);
	epoch_note(&run->epoch, capture->name, "the policy starts over there, without any state");
}

static int simulate(struct run *run, const char *path)
{
	const struct policy_context ctx = {.mtu = 1500};
	int rc = 0;

	for (int i = 0; !rc && i < run->side_count; i++)
		rc = policy_file_parse(&run->sides[i].file, &ctx, &run->sides[i].policy);
	if (!rc)
		rc = simulate_alarms_check(run->command, &run->sides[0].policy,
					   run->side_count > 1 ? &run->sides[1].policy : NULL);
	run->directions = directions_new();
	if (!rc && !run->directions)
		rc = fail("out of memory");
	if (!rc)
		rc = capture_open(path, &run->capture);
	if (!rc)
		rc = capture_run(run);
	if (!rc)
		rc = results_print(run);
	if (!rc)
		notes_print(run);
	capture_close(&run->capture);
	directions_free(run->directions);
	return rc;
}

static int side_open(const struct command *command, const char *policy, struct run *run)
{
	struct side *side = &run->sides[run->side_count++];
	int rc = simulate_local_open(command, &side->local);

	if (!rc)
		rc = policy_file_read(policy, &side->file);
	if (!rc)
		side->name = side->file.found ? policy : side->file.name;
	return rc;
}

static void run_close(struct run *run)
{
	record_clear(&run->record);
	simulate_batch_close(&run->batch);
	for (int i = 0; i < run->side_count; i++) {
		struct side *side = &run->sides[i];

		simulation_close(side->simulation);
		policy_clear(&side->policy);
		policy_file_clear(&side->file);
		simulate_local_close(&side->local);
	}
}

static bool is_stdin(const char *word)
{
	return word && !strcmp(word, "-");
}

/* 0 or EXIT_USAGE. */
static int words_check(const struct command *command)
{
	const char *against = command->arguments[OPTION_AGAINST];
	bool policy = is_stdin(command->words[0]), capture = is_stdin(command->words[1]);

	if (policy && capture)
		return wrong("simulate: standard input cannot be both policy and capture: use a "
			     "file for "
			     "one of them");
	if (is_stdin(against) && (policy || capture))
		return wrong("simulate: --against and another argument cannot both be standard "
			     "input: use a file for one of them");
	if (is_stdin(command->arguments[OPTION_REPORT]))
		return wrong("simulate: a report cannot go to standard output: name a file");
	return 0;
}

int cmd_simulate(const struct command *command)
{
	struct run run = {
		.command = command,
		.verdicts = option_given(command, OPTION_VERDICTS),
		.report = command->arguments[OPTION_REPORT],
	};
	int rc = words_check(command);

	if (!rc)
		rc = side_open(command, command->words[0], &run);
	if (!rc && option_given(command, OPTION_AGAINST))
		rc = side_open(command, command->arguments[OPTION_AGAINST], &run);
	if (!rc && run.report)
		rc = file_save_check(run.report);
	if (!rc)
		rc = simulate(&run, command->words[1]);
	run_close(&run);
	return rc;
}
