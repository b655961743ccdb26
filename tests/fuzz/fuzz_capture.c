// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate over any file, up to the kernel: here the data path's parser, built for the host,
 * says what a packet is. A verdict's line is checked against the packet it is of. The first byte
 * of the input says whether sums, JSON or verdicts are asked for, and whether half of all addresses
 * are local.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "base/captured.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "fuzz.h"
#include "kernel/instance/instance.h"
#include "kernel/simulation.h"
#include "kernel/state/alarms.h"
#include "kernel/state/stats.h"
#include "policy/parser.h"
#include "policy/policy.h"

static const struct rl_config config;

#include "packet/parse.h"

#define POLICY "rule any limit 10/second\n"

static const struct verb no_verb = {0};
const struct verb *verbs = &no_verb; /* none but the one that is called here */

/* ---- in the kernel's place */

struct simulation {
	struct instance instance;
	struct rl_amount reasons[RL_REASON_COUNT];
	struct policy policy;
};

static FILE *verdicts; /* what should stand there, line by line, less the packet's number */

int simulation_open(struct policy *policy, uint64_t now_ns, const struct policy_source *file,
		    struct simulation **out)
{
	struct simulation *s = calloc(1, sizeof(*s));

	(void)now_ns, (void)file;
	require(s);
	policy_for_each (policy, rule)
		require(!policy_append(&s->policy, rule));
	*out = s;
	return 0;
}

void simulation_close(struct simulation *s)
{
	if (s)
		policy_clear(&s->policy);
	free(s);
}

static enum rl_reason reason_of(const struct captured *packet)
{
	uint8_t *frame = fuzz_frame(packet->data, packet->size);
	struct packet p = {0};
	enum parse parse = packet_parse(
		&p, cursor_at(frame, frame + packet->size, TRANSPORT_MAX, false), packet->bytes, 0);

	fuzz_frame_free(frame);
	return parse == PARSE_NON_IP      ? RL_REASON_NON_IP
	       : parse == PARSE_MALFORMED ? RL_REASON_MALFORMED
					  : RL_REASON_WITHIN;
}

static void packet_run(struct simulation *s, const struct captured *packet, enum rl_reason *out)
{
	require(packet->bytes >= packet->size);
	require(packet->time_ns < 1ull << 63);
	*out = reason_of(packet);
	s->reasons[*out].packets++;
	s->reasons[*out].bytes += packet->bytes;
	fprintf(verdicts, " %llu.%09llu %s\n", (unsigned long long)packet->time_ns / NS_PER_SECOND,
		(unsigned long long)packet->time_ns % NS_PER_SECOND,
		*out == RL_REASON_NON_IP      ? "pass non-ip"
		: *out == RL_REASON_MALFORMED ? "drop malformed"
					      : "pass within");
}

int simulation_run_all(struct simulation *s, const struct captured *packets, size_t count,
		       struct simulated *out)
{
	for (size_t i = 0; i < count; i++) {
		packet_run(s, &packets[i], &out[i].reason);
		out[i].counter_id = s->reasons[RL_REASON_WITHIN].packets % 2 ? RL_WATCH_ANY : 0;
		out[i].cut = s->reasons[RL_REASON_WITHIN].packets % 3 == 1;
	}
	return 0;
}

void simulation_prove(struct simulation *s, bool is_established)
{
	(void)s, (void)is_established;
}

bool simulation_has_asked(const struct simulation *s)
{
	return s->reasons[RL_REASON_WITHIN].packets % 2;
}

int simulation_restart(struct simulation *s, uint64_t now_ns)
{
	require(s && now_ns < 1ull << 63);
	return 0;
}

int simulation_counters_read(const struct simulation *s, struct rule_counters *out)
{
	memset(out, 0, s->policy.count * sizeof(*out));
	return 0;
}

int simulation_shares_read(const struct simulation *s, struct share_counts **out)
{
	(void)s;
	*out = NULL;
	return 0;
}

int simulation_alarms_read(const struct simulation *s, uint64_t now_ns, struct alarms_now *out)
{
	(void)s, (void)now_ns;
	memset(out, 0, sizeof(*out));
	return 0;
}

int simulation_alarm_on(struct simulation *s, const char *name)
{
	require(s && name);
	return 0;
}

const struct instance *simulation_instance(const struct simulation *s)
{
	return &s->instance;
}

int simulation_stats_read(const struct simulation *s, struct instance_stats *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->reasons, s->reasons, sizeof(out->reasons));
	out->rules = calloc(s->policy.count + 1, sizeof(*out->rules));
	require(out->rules);
	for (size_t i = 0; i < s->policy.count; i++)
		require(!policy_append(&out->policy, &s->policy.rules[i]));
	return 0;
}

/* ---- */

/* A file of these bytes, and a name of it for as long as it lives. */
static int file_make(const void *data, size_t size, char name[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(name, 64, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_quiet();
	return 0;
}

/* Returns the text written to the descriptor, to be freed. */
static char *text_read(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc(size + 1);

	require(text && pread(fd, text, size, 0) == size);
	text[size] = '\0';
	return text;
}

/* Numbers of packets grow: those that are skipped count. */
static void verdicts_check(const char *printed, const char *expected)
{
	unsigned long long number, last = 0;

	while (*printed) {
		size_t line;
		char *end;

		number = strtoull(printed, &end, 10);
		require(end > printed && number > last);
		last = number;
		line = strcspn(end, "\n") + 1;
		require(!strncmp(end, expected, line));
		printed = end + line;
		expected += line;
	}
	require(!*expected);
}

/* Returns true when the simulation ran to the end. Its output is in *printed, to be freed. */
static bool simulate(char *policy, char *capture, bool wants_verdicts, bool local, char **printed)
{
	char *words[] = {policy, capture, NULL};
	struct command command = {.words = words, .word_count = 2};
	FILE *nowhere = stdout;
	int fd = memfd_create("stdout", MFD_CLOEXEC), rc;

	if (local)
		command.locals[command.local_count++] = "0.0.0.0/1";
	if (local)
		command.locals[command.local_count++] = "::/1";
	if (wants_verdicts)
		command.arguments[OPTION_VERDICTS] = "";
	stdout = fdopen(fd, "w");
	require(stdout);
	rc = cmd_simulate(&command);
	fflush(stdout);
	*printed = text_read(fd);
	fclose(stdout);
	stdout = nowhere;
	return !rc;
}

enum { SUMS, JSON, VERDICTS, KINDS, LOCAL = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char policy[64], capture[64], *printed, *expected = NULL;
	int policy_fd, capture_fd, kind;
	size_t expected_size;
	bool done;

	if (!size)
		return 0;
	kind = data[0] % KINDS;
	policy_fd = file_make(POLICY, strlen(POLICY), policy);
	capture_fd = file_make(data + 1, size - 1, capture);
	verdicts = open_memstream(&expected, &expected_size);
	require(verdicts);
	output_json = kind == JSON;
	done = simulate(policy, capture, kind == VERDICTS, data[0] & LOCAL, &printed);
	fclose(verdicts);
	if (kind == VERDICTS)
		verdicts_check(printed, expected);
	else
		require(!done || *printed);
	for (const char *c = printed; *c; c++)
		require(*c == '\n' || (*c >= ' ' && *c <= '~'));
	free(printed);
	free(expected);
	close(policy_fd);
	close(capture_fd);
	return 0;
}
