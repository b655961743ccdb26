// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate: runs a policy over a capture. The policy comes into force with the first packet;
 * all clocks follow the capture.
 */
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/captured.h"
#include "base/hint.h"
#include "base/message.h"
#include "base/text.h"
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
#include "policy/alarm.h"
#include "policy/policy.h"
#include "watch/capture/capture.h"

#define BUFFER_BYTES (1u << 16)
#define BATCH_MAX    256u /* packets that are run together */

/* As many packets of an Ethernet device as a batch has, and the largest packet. */
#define BATCH_BYTES (1u << 19)
_Static_assert(BATCH_BYTES >= CAPTURED_MAX, "room for any packet");

/* Copies of packets that wait to be run together, in their order. */
struct batch {
	size_t limit; /* how many wait, at most BATCH_MAX */
	size_t count;
	size_t bytes; /* of `data` */
	uint8_t *data;
	struct captured packets[BATCH_MAX];
	uint64_t numbers[BATCH_MAX]; /* in the capture */
};

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
	struct batch batch;
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

/* ---- --alarm: manual alarms that are on through the whole capture */

static bool has_manual(const struct policy *policy, const char *name)
{
	const struct policy_alarm *alarm = policy_alarm_find(policy, name);

	return alarm && alarm->manual;
}

static int alarm_unknown(const struct policy *policy, const char *name)
{
	struct hint hint = {.word = name};

	if (policy_alarm_find(policy, name))
		return fail("simulate: alarm %s is not manual: the packets of the capture put it "
			    "on and off: leave --alarm %s out",
			    name, name);
	for (size_t i = 0; i < policy->alarm_count; i++)
		if (policy->alarms[i].manual)
			hint_offer(&hint, policy->alarms[i].name);
	if (hint.best)
		return fail("simulate: unknown alarm '%s' (did you mean %s?)", name, hint.best);
	return fail("simulate: unknown alarm '%s': name one for which the policy has a line "
		    "\"alarm NAME manual\"",
		    name);
}

/* Is each of them a manual alarm of a policy? 0 or -1; reports. */
static int alarms_check(const struct run *run)
{
	for (int i = 0; i < run->command->alarm_count; i++) {
		const char *name = run->command->alarms[i];
		bool has = false;

		for (int side = 0; side < run->side_count; side++)
			has |= has_manual(&run->sides[side].policy, name);
		if (!has)
			return alarm_unknown(&run->sides[0].policy, name);
	}
	return 0;
}

/* Those that the policy of the side has are on from now on. 0 or -1; reports. */
static int alarms_turn(const struct run *run, const struct side *side)
{
	int rc = 0;

	for (int i = 0; !rc && i < run->command->alarm_count; i++)
		if (has_manual(&side->policy, run->command->alarms[i]))
			rc = simulation_alarm_on(side->simulation, run->command->alarms[i]);
	return rc;
}

/* ---- the packets */

/* All sides start over. */
static int sides_restart(struct run *run, uint64_t now_ns)
{
	int rc = record_restart(&run->record);

	for (int i = 0; !rc && i < run->side_count; i++) {
		simulate_local_restart(&run->sides[i].local);
		rc = simulation_restart(run->sides[i].simulation, now_ns);
		rc = rc ?: alarms_turn(run, &run->sides[i]);
	}
	return rc;
}

/* Packet n of the batch has been run. 0 or < 0, also if standard output is closed. */
static int result_note(struct run *run, size_t n, struct simulated results[RECORD_SIDES][BATCH_MAX])
{
	const struct captured *packet = &run->batch.packets[n];
	struct record_verdict verdicts[RECORD_SIDES];
	bool cut = false;

	for (int i = 0; i < run->side_count; i++) {
		verdicts[i].reason = results[i][n].reason;
		verdicts[i].counter_id = results[i][n].counter_id;
		cut |= results[i][n].cut;
	}
	run->without += cut;
	record_packet(&run->record, packet, verdicts);
	if (verdicts[0].reason == RL_REASON_MALFORMED && packet->size < packet->bytes)
		run->cut++;
	if (!run->verdicts)
		return 0;
	verdict_print(packet, run->batch.numbers[n], verdicts, run->side_count);
	return ferror(stdout) ? output_flush() : 0;
}

/* Which packets arrive does not depend on the policy, so that all sides run the same ones. With
 * --local the batch is one packet: whether the next is established depends on its verdict. */
static int batch_run(struct run *run)
{
	struct simulated results[RECORD_SIDES][BATCH_MAX];
	struct batch *batch = &run->batch;
	bool ran = true;
	int rc = 0;

	if (!batch->count)
		return 0;
	for (int i = 0; !rc && i < run->side_count; i++) {
		struct simulation *simulation = run->sides[i].simulation;
		struct simulated *out = results[i];

		if (!run->sides[i].local.stack) {
			rc = simulation_run_all(simulation, batch->packets, batch->count, out);
			continue;
		}
		rc = simulate_local_run(&run->sides[i].local, simulation, batch->packets, &ran,
					out);
	}
	for (size_t n = 0; !rc && ran && n < batch->count; n++)
		rc = result_note(run, n, results);
	batch->count = batch->bytes = 0;
	return rc;
}

/* The packet waits for its batch, which runs before anything is read or cleared. */
static int packet_take(struct run *run, const struct captured *packet)
{
	bool ends = epoch_ends(&run->epoch, run->capture.packets, packet->time_ns);
	struct batch *batch = &run->batch;
	struct captured *added;
	int rc = 0;

	directions_count(run->directions, packet);
	if (ends || record_turns(&run->record, packet->time_ns) ||
	    packet->size > BATCH_BYTES - batch->bytes)
		rc = batch_run(run);
	if (!rc && ends)
		rc = sides_restart(run, packet->time_ns);
	rc = rc ?: record_turn(&run->record, packet->time_ns);
	if (rc)
		return rc;
	added = &batch->packets[batch->count];
	*added = *packet;
	added->data = memcpy(batch->data + batch->bytes, packet->data, packet->size);
	batch->numbers[batch->count++] = run->capture.packets;
	batch->bytes += packet->size;
	if (batch->count == batch->limit)
		rc = batch_run(run);
	if (!rc && progress_due(&run->progress))
		progress_draw(run->capture.packets, "packets", capture_permille(&run->capture));
	return rc;
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
		rc = rc ?: alarms_turn(run, &run->sides[i]);
		if (!rc && recorded)
			record_side_add(&run->record, side->name, &side->policy, side->simulation);
	}
	return rc;
}

static int capture_run(struct run *run)
{
	struct captured packet = {0};
	bool watched;
	int got, rc;

	output_prepare(run);
	got = capture_next(&run->capture, &packet);
	if (got < 0)
		return got;
	cpu_pin();
	/* Verdicts that somebody watches as packets come are not held up. */
	watched = run->verdicts && !run->capture.size && isatty(STDOUT_FILENO);
	run->batch.limit = run->sides[0].local.stack || watched ? 1 : BATCH_MAX;
	run->batch.data = xcalloc(1, BATCH_BYTES);
	rc = sides_open(run, packet.time_ns);
	while (!rc && got > 0) {
		rc = packet_take(run, &packet);
		got = rc ? rc : capture_next(&run->capture, &packet);
	}
	rc = rc ?: batch_run(run);
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

static int results_print(const struct run *run)
{
	const struct simulate_local *local = &run->sides[0].local;
	const struct simulation *simulation = run->sides[0].simulation;
	const struct page page = {
		.record = &run->record,
		.capture = run->capture.name,
		.not_run = simulate_local_not_run(local),
		.jumps = run->epoch.jumps,
	};
	uint64_t packets = packets_run(run);
	struct json_object *document = NULL;
	struct instance_stats stats;
	int rc;

	if (run->verdicts && !run->report)
		return 0;
	rc = simulation_stats_read(simulation, &stats);
	if (rc)
		return rc;
	if (run->report || output_json) {
		document = json_sums(run, &stats);
		rc = document ? 0 : -1;
	}
	if (!rc && !run->verdicts && output_json) {
		json_print(json_object_get(document));
	} else if (!rc && !run->verdicts) {
		printf("%s packet%s\n", number_text(packets), plural(packets));
		simulate_local_print(local);
		stats_print_sums(simulation_instance(simulation), &stats);
		if (run->side_count > 1)
			simulate_against_print(&run->record);
	}
	if (!rc && run->report) {
		json_put(document, "report", page_json(&page));
		rc = page_save(PAGE_SIMULATION, json_object_get(document), run->report);
	}
	json_object_put(document);
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
	rc = rc ?: alarms_check(run);
	run->directions = directions_new();
	if (!rc && !run->directions)
		rc = fail("out of memory");
	rc = rc ?: capture_open(path, &run->capture);
	rc = rc ?: capture_run(run);
	rc = rc ?: results_print(run);
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

	rc = rc ?: policy_file_read(policy, &side->file);
	if (!rc)
		side->name = side->file.found ? policy : side->file.name;
	return rc;
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

	rc = rc ?: side_open(command, command->words[0], &run);
	if (!rc && option_given(command, OPTION_AGAINST))
		rc = side_open(command, command->arguments[OPTION_AGAINST], &run);
	if (!rc && run.report)
		rc = file_save_check(run.report);
	rc = rc ?: simulate(&run, command->words[1]);
	record_clear(&run.record);
	free(run.batch.data);
	for (int i = 0; i < run.side_count; i++) {
		simulation_close(run.sides[i].simulation);
		policy_clear(&run.sides[i].policy);
		policy_file_clear(&run.sides[i].file);
		simulate_local_close(&run.sides[i].local);
	}
	return rc;
}
