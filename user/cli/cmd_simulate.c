// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate: runs a policy over a capture. The policy comes into force with the first packet;
 * all clocks follow the capture.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "captured.h"
#include "cmd.h"
#include "direction.h"
#include "instance.h"
#include "message.h"
#include "names.h"
#include "output.h"
#include "policy.h"
#include "progress.h"
#include "simulate_local.h"
#include "simulation.h"
#include "stats.h"
#include "stats_output.h"
#include "text.h"
#include "units.h"

#define BUFFER_BYTES (1u << 16)

/* Packets captured from several queues are out of order by milliseconds; limits treat them as on a
 * CPU whose clock is behind. Time goes further back only if the clock was set, or if captures were
 * concatenated. */
#define BACK_MAX_NS NS_PER_SECOND

/* How long after a state's last use its times compare correctly: bpf/algorithm/gcra.h. */
#define REACH_NS (1ull << 59)

/* The time since the states were last reset. */
struct epoch {
	uint64_t first_ns, latest_ns;
	uint64_t jumps;                /* that caused a reset */
	uint64_t jump_packet, jump_ns; /* the first of them */
	bool jump_back;
};

struct run {
	struct epoch epoch;
	struct capture capture;
	struct directions *directions;
	struct simulate_local local;
	struct simulation *simulation;
	struct progress progress;
	bool verdicts;
	uint64_t cut; /* malformed because the capture lacks headers */
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

/* "NUMBER SECONDS.NANOSECONDS pass|drop REASON". printf would take a third of the time of running
 * the packet. */
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

/* Whether the packet's time is too far from the earlier ones to use their states. */
static bool epoch_ends(struct epoch *epoch, uint64_t number, uint64_t now_ns)
{
	bool back = now_ns < epoch->latest_ns && epoch->latest_ns - now_ns > BACK_MAX_NS;

	if (!back && (now_ns < epoch->first_ns || now_ns - epoch->first_ns < REACH_NS)) {
		epoch->latest_ns = now_ns > epoch->latest_ns ? now_ns : epoch->latest_ns;
		return false;
	}
	if (!epoch->jumps++) {
		epoch->jump_packet = number;
		epoch->jump_back = back;
		epoch->jump_ns = back ? epoch->latest_ns - now_ns : now_ns - epoch->latest_ns;
	}
	epoch->first_ns = epoch->latest_ns = now_ns;
	return true;
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

static void epoch_note(const struct run *run)
{
	const struct epoch *epoch = &run->epoch;
	char jump[64], more[64] = "";

	if (!epoch->jumps)
		return;
	jump_print(jump, sizeof(jump), epoch->jump_ns);
	if (epoch->jumps > 1)
		snprintf(more, sizeof(more), ", and at %" PRIu64 " more packet%s", epoch->jumps - 1,
			 epoch->jumps == 2 ? "" : "s");
	note("%s: time jumps %s by %s at packet %" PRIu64 "%s: the policy starts over there, "
	     "without any state",
	     run->capture.name, epoch->jump_back ? "back" : "forward", jump, epoch->jump_packet,
	     more);
}

/* 0 or < 0, also if standard output is closed. */
static int verdict_note(struct run *run, const struct captured *packet, enum rl_reason reason)
{
	if (reason == RL_REASON_MALFORMED && packet->size < packet->bytes)
		run->cut++;
	if (!run->verdicts)
		return 0;
	print_verdict(run, packet, reason);
	return ferror(stdout) ? output_flush() : 0;
}

static int packet_run(struct run *run, const struct captured *packet)
{
	enum rl_reason reason;
	bool ran;
	int rc = 0;

	directions_count(run->directions, packet);
	if (epoch_ends(&run->epoch, run->capture.packets, packet->time_ns)) {
		simulate_local_restart(&run->local);
		rc = simulation_restart(run->simulation, packet->time_ns);
	}
	if (!rc)
		rc = simulate_local_run(&run->local, run->simulation, packet, &ran, &reason);
	if (!rc && ran)
		rc = verdict_note(run, packet, reason);
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

static int capture_run(struct run *run, struct policy *policy, const struct policy_source *file)
{
	struct captured packet = {0};
	int got, rc;

	output_prepare(run);
	got = capture_next(&run->capture, &packet);
	if (got < 0)
		return got;
	run->epoch.first_ns = run->epoch.latest_ns = packet.time_ns;
	cpu_pin();
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
	uint64_t packets =
		run->capture.packets - run->capture.skipped - simulate_local_not_run(&run->local);
	struct instance_stats stats;
	char count[NUMBER_TEXT_MAX];
	int rc = simulation_stats_read(run->simulation, &stats);

	if (rc)
		return rc;
	if (output_json) {
		object = json_object_new_object();
		json_put(object, "packets", json_object_new_uint64(packets));
		json_put_stats(object, instance, &stats);
		simulate_local_json(&run->local, object);
		json_print(object);
	} else {
		number_print(count, packets);
		printf("%s packet%s\n", count, packets == 1 ? "" : "s");
		simulate_local_print(&run->local);
		stats_print_sums(instance, &stats);
	}
	instance_stats_clear(&stats);
	return 0;
}

/* Notes about the capture that affect the result. */
static void notes_print(const struct run *run, const struct policy *policy)
{
	const struct capture *capture = &run->capture;

	simulate_local_note(&run->local, policy, capture->name);
	if (!run->local.stack && directions_both(run->directions))
		note("%s: the capture seems to have both directions, but an instance sees only packets "
		     "that arrive: capture with `tcpdump -Q in`, or give the machine's addresses with --local",
		     capture->name);
	if (run->cut)
		note("%s: %" PRIu64 " packet%s captured without all headers, counted as malformed: "
		     "capture more bytes of each packet",
		     capture->name, run->cut, run->cut == 1 ? " was" : "s were");
	if (capture->skipped)
		note("%s: %" PRIu64
		     " packet%s skipped because of an invalid timestamp, the first is "
		     "packet %" PRIu64,
		     capture->name, capture->skipped, capture->skipped == 1 ? " was" : "s were",
		     capture->first_skipped);
	epoch_note(run);
}

static int simulate(struct run *run, const struct policy_file *file, const char *path)
{
	const struct policy_context ctx = {.mtu = 1500};
	struct policy policy = {0};
	int rc = policy_file_parse(file, &ctx, &policy);

	run->directions = directions_new();
	if (!rc && !run->directions)
		rc = fail("out of memory");
	if (!rc)
		rc = capture_open(path, &run->capture);
	if (!rc)
		rc = capture_run(run, &policy, &file->source);
	if (!rc && !run->verdicts)
		rc = print_sums(run);
	if (!rc)
		notes_print(run, &policy);
	simulation_close(run->simulation);
	capture_close(&run->capture);
	directions_free(run->directions);
	policy_clear(&policy);
	return rc;
}

int cmd_simulate(const struct command *command)
{
	struct run run = {.verdicts = option_given(command, OPTION_VERDICTS)};
	struct policy_file file;
	int rc;

	if (!strcmp(command->words[0], "-") && !strcmp(command->words[1], "-"))
		return wrong("simulate: standard input cannot be both policy and capture: use a "
			     "file for "
			     "one of them");
	rc = simulate_local_open(command, &run.local);
	if (rc)
		return rc;
	rc = policy_file_read(command->words[0], &file);
	if (!rc) {
		rc = simulate(&run, &file, command->words[1]);
		policy_file_clear(&file);
	}
	simulate_local_close(&run.local);
	return rc;
}
