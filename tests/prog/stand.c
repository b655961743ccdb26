// SPDX-License-Identifier: GPL-2.0-only
/* Loads the program with a table of the test's choice; policies go in through
 * user/kernel/policy_write.c. */
#include "stand.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "object.h"
#include "rlctl.skel.h"
#include "units.h"

const char *const table_words[] = {"hot", "lru", "cpu"};

struct stand {
	struct rlctl_bpf *skel;
	struct instance instance;
	int program_fd;
};

static struct rl_instance info_of(enum rl_table table)
{
	struct rl_instance info = {
		.abi_version = RL_ABI_VERSION,
		.mtu = 1500,
		.tick_ns = 4 * NS_PER_MS,
		.table = table,
		.sources = 4096,
		.prefixes = 128,
		.log_depth = RL_SLIDING_LOG_MAX,
		.cpus = libbpf_num_possible_cpus(),
		.possible_cpus = libbpf_num_possible_cpus(),
	};

	instance_sizes(&info);
	return info;
}

struct stand *stand_open(enum rl_table table, bool time_stands)
{
	struct stand *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->instance.info = info_of(table);
	s->instance.clock_injected = time_stands;
	s->skel = object_open(&s->instance.info);
	if (s->skel)
		s->skel->rodata->clock_injected = time_stands;
	if (!s->skel || rlctl_bpf__load(s->skel)) {
		fprintf(stderr, "the program could not be loaded\n");
		stand_close(s);
		return NULL;
	}
#define TAKE_FD(map) s->instance.fd.map = bpf_map__fd(s->skel->maps.map);
	INSTANCE_MAPS(TAKE_FD)
#undef TAKE_FD
	s->program_fd = bpf_program__fd(s->skel->progs.rlctl_xdp);
	stand_clock(s, NS_PER_DAY);
	return s;
}

void stand_close(struct stand *s)
{
	if (s)
		rlctl_bpf__destroy(s->skel);
	free(s);
}

static void lines_put(struct stand *s, const char *lines)
{
	struct policy_error err = {0};
	struct policy_context ctx;
	struct policy policy = {0};

	instance_context(&s->instance, &ctx);
	if (policy_parse(lines, strlen(lines), &ctx, NULL, &policy, &err))
		fail_msg("%s\n%u:%u: %s", lines, err.line, err.column, err.text);
	assert_int_equal(instance_policy_write(&s->instance, &policy, false, "policy"), 0);
	policy_clear(&policy);
}

void stand_policy(struct stand *s, const char *rules)
{
	char lines[2048] = "", copy[2048], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", rules);
	for (char *r = strtok_r(copy, ";", &rest); r; r = strtok_r(NULL, ";", &rest)) {
		size_t used = strlen(lines);

		snprintf(lines + used, sizeof(lines) - used, "rule %s\n", r);
	}
	lines_put(s, "");
	lines_put(s, lines);
}

void stand_clock(struct stand *s, uint64_t now_ns)
{
	s->skel->bss->clock_now_ns = now_ns;
	s->instance.now_ns = now_ns;
}

void stand_repeat(struct stand *s, const struct shape *shape, uint32_t times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = shape->bytes, .data_size_in = shape->size,
		    .repeat = times);

	if (bpf_prog_test_run_opts(s->program_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN: %s", strerror(errno));
}

enum rl_reason stand_run(struct stand *s, const char *words)
{
	static struct shape shape;

	shape_build(&shape, words);
	stand_repeat(s, &shape, 1);
	return s->skel->bss->simulated_reason;
}

uint64_t stand_passed(struct stand *s)
{
	struct instance_stats stats = {0};
	uint64_t passed = 0;

	assert_int_equal(instance_stats_read(&s->instance, &stats), 0);
	for (int i = 0; i < RL_REASON_COUNT; i++)
		passed += reason_is_pass(i) ? stats.reasons[i].packets : 0;
	instance_stats_clear(&stats);
	return passed;
}

/* ---- CPUs */

/* Those that the program started with. */
static const cpu_set_t *cpus(void)
{
	static cpu_set_t all;

	if (!CPU_COUNT(&all))
		assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	return &all;
}

unsigned int cpus_usable(void)
{
	return CPU_COUNT(cpus());
}

void cpu_stay(unsigned int n)
{
	cpu_set_t one;
	int cpu = 0;

	for (n %= cpus_usable(); n || !CPU_ISSET(cpu, cpus()); cpu++)
		n -= CPU_ISSET(cpu, cpus()) ? 1 : 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

unsigned int cpus_sharing(void)
{
	return libbpf_num_possible_cpus();
}

/* ---- limits */

void limit_of(char *out, size_t size, enum rl_algorithm algorithm, unsigned int n)
{
	static const char *const formats[RL_ALGORITHM_COUNT] = {
		"token-bucket 24/d burst %u", "leaky-bucket 24/d queue %u", "fixed-window %u/12h",
		"sliding-window %u/12h",      "sliding-log %u/12h",         "warm-up 24/d ramp 1h",
	};

	snprintf(out, size, formats[algorithm], n);
}
