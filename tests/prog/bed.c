// SPDX-License-Identifier: GPL-2.0-only
/* The program under test and its maps; policies go in through user/kernel/policy_write.c, as on a
 * device. */
#include "bed.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "object.h"
#include "pieces.h"
#include "rlctl.skel.h"
#include "units.h"

#define CPUS_MAX 256

struct bed {
	struct rlctl_bpf *skel;
	struct instance instance;
	struct rl_amount seen[RL_REASON_COUNT]; /* by bed_run */
	int program_fd, entry_fd;
	int cpus;
};

static const struct {
	const char *name;
	bool passes;
} reason_table[] = {
#define REASON_ROW(name, text, passes) {text, passes},
	RL_REASONS(REASON_ROW)
#undef REASON_ROW
};

const char *reason_name(enum rl_reason reason)
{
	return reason < RL_REASON_COUNT ? reason_table[reason].name : "none";
}

enum rl_reason reason_by_name(const char *name)
{
	for (int i = 0; i < RL_REASON_COUNT; i++)
		if (!strcmp(reason_table[i].name, name))
			return i;
	fail_msg("no such reason: %s", name);
	return RL_REASON_COUNT;
}

bool reason_is_pass(enum rl_reason reason)
{
	return reason_table[reason].passes;
}

/* ---- loading */

static struct rl_instance info_of(const struct bed_options *options)
{
	struct rl_instance info = {
		.abi_version = RL_ABI_VERSION,
		.hook = options->hook,
		.mode = options->hook == RL_HOOK_XDP ? RL_MODE_NATIVE : RL_MODE_TC,
		.by_dest = options->by_dest,
		.mtu = options->mtu ? options->mtu : 1500,
		.tick_ns = 4 * NS_PER_MS,
		.sources = options->sources ? options->sources : 4096,
		.prefixes = options->prefixes ? options->prefixes : 128,
		.log_depth = RL_SLIDING_LOG_MAX,
		.cpus = libbpf_num_possible_cpus(),
		.possible_cpus = libbpf_num_possible_cpus(),
	};

	instance_sizes(&info);
	return info;
}

static struct rlctl_bpf *object_load(const struct rl_instance *info)
{
	struct rlctl_bpf *skel = object_open(info);

	if (!skel)
		return NULL;
	skel->rodata->clock_injected = true;
	if (!rlctl_bpf__load(skel))
		return skel;
	rlctl_bpf__destroy(skel);
	return NULL;
}

struct bed *bed_open(const struct bed_options *options)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	if (!bed)
		return NULL;
	bed->instance.info = info_of(options);
	bed->instance.clock_injected = true;
	snprintf(bed->instance.device, sizeof(bed->instance.device), "bed");
	bed->cpus = libbpf_num_possible_cpus();
	bed->skel = object_load(&bed->instance.info);
	if (!bed->skel || bed->cpus < 1 || bed->cpus > CPUS_MAX) {
		fprintf(stderr, "the program could not be loaded\n");
		free(bed);
		return NULL;
	}
#define TAKE_FD(map) bed->instance.fd.map = bpf_map__fd(bed->skel->maps.map);
	INSTANCE_MAPS(TAKE_FD)
#undef TAKE_FD
	bed->program_fd = bpf_program__fd(options->hook == RL_HOOK_XDP ? bed->skel->progs.rlctl_xdp
								       : bed->skel->progs.rlctl_tc);
	bed->entry_fd = bed->program_fd;
	bed_clock(bed, NS_PER_DAY);
	return bed;
}

void bed_close(struct bed *bed)
{
	if (bed)
		rlctl_bpf__destroy(bed->skel);
	free(bed);
}

/* ---- policies and time */

void bed_policy(struct bed *bed, const char *text)
{
	struct policy_error err = {0};
	struct policy_context ctx;
	struct policy policy = {0};
	char *lines = strdup(text);

	assert_non_null(lines);
	for (char *c = lines; *c; c++)
		if (*c == ';')
			*c = '\n';
	instance_context(&bed->instance, &ctx);
	if (policy_parse(lines, strlen(lines), &ctx, NULL, &policy, &err))
		fail_msg("%u:%u: %s\n%s", err.line, err.column, err.text, text);
	free(lines);
	assert_int_equal(instance_policy_write(&bed->instance, &policy, true, "policy"), 0);
	policy_clear(&policy);
}

void bed_clock(struct bed *bed, uint64_t now_ns)
{
	bed->skel->bss->clock_now_ns = now_ns;
	bed->instance.now_ns = now_ns;
}

/* ---- frames */

void bed_reasons(struct bed *bed, struct rl_amount out[RL_REASON_COUNT])
{
	struct rl_amount each[CPUS_MAX];

	for (uint32_t i = 0; i < RL_REASON_COUNT; i++) {
		out[i] = (struct rl_amount){0};
		assert_int_equal(bpf_map_lookup_elem(bed->instance.fd.reasons, &i, each), 0);
		for (int cpu = 0; cpu < bed->cpus; cpu++) {
			out[i].packets += each[cpu].packets;
			out[i].bytes += each[cpu].bytes;
		}
	}
}

/* What the counters say of the one frame since they were last read. */
static enum rl_reason reason_since(struct bed *bed, uint64_t packets, uint64_t bytes)
{
	enum rl_reason reason = RL_REASON_COUNT;
	struct rl_amount now[RL_REASON_COUNT];

	bed_reasons(bed, now);
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		if (!memcmp(&now[i], &bed->seen[i], sizeof(now[i])))
			continue;
		assert_int_equal(reason, RL_REASON_COUNT);
		assert_int_equal(now[i].packets - bed->seen[i].packets, packets);
		assert_int_equal(now[i].bytes - bed->seen[i].bytes, bytes);
		reason = i;
	}
	assert_int_not_equal(reason, RL_REASON_COUNT);
	memcpy(bed->seen, now, sizeof(now));
	return reason;
}

static uint32_t verdict_of(const struct bed *bed, enum rl_reason reason)
{
	if (bed->instance.info.hook == RL_HOOK_XDP)
		return reason_is_pass(reason) ? XDP_PASS : XDP_DROP;
	return (uint32_t)(reason_is_pass(reason) ? TC_ACT_UNSPEC : TC_ACT_SHOT);
}

enum rl_reason bed_run(struct bed *bed, const struct shape *shape)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = shape->bytes, .data_size_in = shape->size);
	enum rl_reason reason;

	if (bpf_prog_test_run_opts(bed->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", shape->size, strerror(errno));
	reason = reason_since(bed, 1, shape->size);
	assert_int_equal(opts.retval, verdict_of(bed, reason));
	return reason;
}

bool bed_run_pieces(struct bed *bed, const struct shape *shape, uint32_t linear,
		    enum rl_reason *reason)
{
	int verdict = pieces_run(bed->entry_fd, shape, linear);

	if (verdict == -ENOTSUP)
		return false;
	if (verdict < 0)
		fail_msg("BPF_PROG_TEST_RUN of %u bytes in pieces: %s", shape->size,
			 strerror(-verdict));
	*reason = reason_since(bed, 1, shape->size);
	assert_int_equal(verdict, verdict_of(bed, *reason));
	return true;
}

enum rl_reason bed_run_skb(struct bed *bed, const struct shape *shape, struct __sk_buff *skb,
			   uint64_t packets, uint64_t bytes)
{
	struct __sk_buff before = *skb;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = shape->bytes, .data_size_in = shape->size,
		    .ctx_in = &before, .ctx_size_in = sizeof(before), .ctx_out = skb,
		    .ctx_size_out = sizeof(*skb));
	enum rl_reason reason;

	if (bpf_prog_test_run_opts(bed->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", shape->size, strerror(errno));
	reason = reason_since(bed, packets, bytes);
	assert_int_equal(opts.retval, verdict_of(bed, reason));
	return reason;
}

void bed_enter_by(struct bed *bed, int program_fd)
{
	bed->entry_fd = program_fd;
}

int bed_program(const struct bed *bed)
{
	return bed->program_fd;
}

void bed_resync(struct bed *bed)
{
	bed_reasons(bed, bed->seen);
}

void bed_repeat(struct bed *bed, const struct shape *shape, uint32_t times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = shape->bytes, .data_size_in = shape->size,
		    .repeat = times);

	if (bpf_prog_test_run_opts(bed->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN, repeated: %s", strerror(errno));
}

enum rl_reason bed_run_words(struct bed *bed, const char *words)
{
	static struct shape shape;

	shape_build(&shape, words);
	return bed_run(bed, &shape);
}

void bed_expect(struct bed *bed, const char *name, const char *words, enum rl_reason reason)
{
	enum rl_reason found = bed_run_words(bed, words);

	if (found != reason)
		fail_msg("%s: \"%s\" is %s, not %s", name, words, reason_name(found),
			 reason_name(reason));
}

/* ---- what is in the maps */

struct rule bed_rule(struct bed *bed, const char *text)
{
	struct policy policy = {0};
	struct policy_error err = {0};
	struct policy_context ctx;
	struct rule rule, *found;

	instance_context(&bed->instance, &ctx);
	if (selector_parse(text, &ctx, &rule, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(instance_policy_read(&bed->instance, &policy), 0);
	found = policy_find(&policy, &rule);
	if (found)
		rule = *found;
	else
		fail_msg("not in force: %s", text);
	policy_clear(&policy);
	return rule;
}

static void amount_add(struct rl_amount *sum, const struct rl_amount *amount)
{
	sum->packets += amount->packets;
	sum->bytes += amount->bytes;
}

struct rl_rule_counters bed_counters(struct bed *bed, const char *text)
{
	struct rl_rule_counters each[CPUS_MAX], sum = {0};
	struct rule rule = bed_rule(bed, text);

	assert_int_equal(bpf_map_lookup_elem(bed->instance.fd.rule_counters, &rule.slot, each), 0);
	for (int cpu = 0; cpu < bed->cpus; cpu++) {
		amount_add(&sum.passed, &each[cpu].passed);
		amount_add(&sum.dropped, &each[cpu].dropped);
		amount_add(&sum.shadow, &each[cpu].shadow);
	}
	return sum;
}

uint32_t bed_states(struct bed *bed)
{
	struct rl_state_key key, *last = NULL;
	uint32_t count = 0;

	for (; !bpf_map_get_next_key(bed->instance.fd.sources, last, &key); last = &key)
		count++;
	return count;
}
