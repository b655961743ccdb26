// SPDX-License-Identifier: GPL-2.0-only
/* Implements harness.h; policies are applied as on a device. */
#include "harness.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/units.h"
#include "kernel/attach/object.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/filters.h"
#include "pieces.h"
#include "rlctl.skel.h"
#include "sent.skel.h"

#define POLICY_MAX (1u << 18)

/* ---- loading */

static struct rl_instance info_of(const struct harness_options *options)
{
	struct rl_instance info = {
		.abi_version = RL_ABI_VERSION,
		.hook = options->hook,
		.mode = options->hook == RL_HOOK_XDP ? RL_MODE_NATIVE : RL_MODE_TC,
		.by_dest = options->by_dest,
		.mtu = options->mtu ?: 1500,
		.tick_ns = 4 * NS_PER_MS,
		.sources = options->sources ?: 4096,
		.prefixes = options->prefixes ?: 4096,
		.bans = options->bans,
		.program_uses = options->program_uses |
				(options->only_uses ? 0 : RL_USE_ANY_STATES | RL_USE_NEW_SOURCE) |
				RL_USE_HOT | RL_USE_PREFIXES,
		.proof = options->proof,
		.challenge_rate = options->challenge_rate,
		.table = options->table,
		.log_depth = options->log_depth ?: RL_SLIDING_LOG_MAX,
		.cpus = libbpf_num_possible_cpus(),
		.possible_cpus = libbpf_num_possible_cpus(),
		.hot_seed = {options->seed[0], options->seed[1]},
	};

	instance_sizes(&info);
	return info;
}

static void filters_take(const struct harness_options *options, struct rl_filters *out)
{
	memset(out, 0, sizeof(*out));
	for (int i = 0; options->filters && options->filters[i]; i++)
		snprintf(out->text[i], sizeof(out->text[i]), "%s", options->filters[i]);
}

static int object_load(struct harness *h, const struct harness_options *options)
{
	struct rl_filters filters;

	filters_take(options, &filters);
	h->skel = object_open_with(&h->instance.info, &filters);
	if (!h->skel)
		return -errno;
	h->skel->rodata->config.clock_injected = h->instance.clock_injected;
	h->skel->rodata->config.frames_in_pieces |= h->instance.clock_injected;
	h->skel->rodata->config.no_shortcuts = options->no_shortcuts;
	if (rlctl_bpf__load(h->skel))
		return -errno;
	if (object_maps_take(h->skel, &h->instance))
		return -errno;
	h->program_fd =
		bpf_program__fd(h->instance.info.hook == RL_HOOK_XDP ? h->skel->progs.rlctl_xdp
								     : h->skel->progs.rlctl_tc);
	h->entry_fd = h->program_fd;
	if (filters_write(&h->instance, &filters))
		return -errno;
	return h->instance.info.table == RL_TABLE_HOT ? hot_open(&h->instance, &h->table) : 0;
}

static int companion_load(struct harness *h)
{
	const struct rl_instance *info = &h->instance.info;
	int ret;

	if (!instance_asks(info, info->program_uses))
		return 0;
	h->companion = sent_bpf__open();
	if (!h->companion)
		return -errno;
	h->companion->rodata->config = (struct rl_config){
		.clock_tick_ns = info->tick_ns,
		.headers_reach = RL_HEADERS_REACH,
		.frames_have_ethernet = true,
		.has_peers = true,
		.keeps_asked = true,
		.clock_injected = h->instance.clock_injected,
	};
	ret = bpf_map__reuse_fd(h->companion->maps.asked, h->policy_maps[POLICY_MAP_asked]);
	if (!ret)
		ret = bpf_map__reuse_fd(h->companion->maps.peers, h->policy_maps[POLICY_MAP_peers]);
	return ret ? ret : sent_bpf__load(h->companion);
}

struct harness *harness_open(const struct harness_options *options)
{
	struct harness *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->instance.info = info_of(options);
	h->instance.policy_maps = h->policy_maps;
	memset(h->policy_maps, 0xff, sizeof(h->policy_maps)); /* -1 */
	h->instance.clock_injected = !options->real_time;
	h->instance.no_refusals = options->no_shortcuts;
	snprintf(h->instance.device, sizeof(h->instance.device), "harness");
	if (h->instance.info.cpus > CPUS_MAX || object_load(h, options) || companion_load(h)) {
		fprintf(stderr, "the program could not be loaded\n");
		harness_close(h);
		return NULL;
	}
	harness_clock(h, NS_PER_DAY);
	return h;
}

void harness_close(struct harness *h)
{
	if (!h)
		return;
	if (h->table.sets)
		hot_close(&h->table);
	sent_bpf__destroy(h->companion);
	rlctl_bpf__destroy(h->skel);
	policy_maps_close(&h->instance);
	free(h);
}

/* ---- policies and time */

static bool is_statement(const char *text)
{
	static const char *const words[] = {"rule ", "set ", "alarm "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

/* A line for each statement, which begins with the word rule, set or alarm. */
static void lines_of(char out[POLICY_MAX], const char *text)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t size; *text; text += size) {
		text += strspn(text, " ;\n");
		size = strcspn(text, ";\n");
		if (!size)
			break;
		used += snprintf(out + used, POLICY_MAX - used, "%s%.*s\n",
				 is_statement(text) ? "" : "rule ", (int)size, text);
		assert_true(used < POLICY_MAX);
	}
}

/* Where packets may be answered: only frames to this device are. */
static void address_give(struct harness *h)
{
	int fd = policy_map_open(&h->instance, POLICY_MAP_answers);
	uint32_t index = RL_ANSWERS_ADDRESSES;
	struct rl_answers own = {0};
	uint16_t words[3];

	if (fd < 0)
		return;
	memcpy(words, frame_device, sizeof(words));
	own.address[0] = rl_answer_address(words);
	assert_int_equal(bpf_map_update_elem(fd, &index, &own, BPF_ANY), 0);
	close(fd);
}

void harness_policy(struct harness *h, const char *text)
{
	static const struct policy_source source = {.name = "policy"};
	static char lines[POLICY_MAX];
	struct policy_errors errors;
	struct policy_context ctx;
	CLEARED_POLICY struct policy policy = {0};

	lines_of(lines, text);
	instance_context(&h->instance, &ctx);
	if (policy_parse(lines, strlen(lines), &ctx, NULL, &policy, &errors))
		fail_msg("%u:%u: %s\n%s", errors.first[0].line, errors.first[0].column,
			 errors.first[0].text, lines);
	assert_int_equal(instance_policy_write(&h->instance, &policy, true, &source, NULL), 0);
	address_give(h);
}

void harness_renew(struct harness *h, const char *text)
{
	harness_policy(h, "");
	harness_policy(h, text);
}

void harness_clock(struct harness *h, uint64_t now_ns)
{
	h->skel->bss->clock_now_ns = now_ns;
	if (h->companion)
		h->companion->bss->clock_now_ns = now_ns;
	h->instance.now_ns = now_ns;
	h->now_ns = now_ns;
}

void harness_sockets(struct harness *h, enum rl_simulated_proof sockets)
{
	h->skel->bss->simulated_proof = sockets;
}

/* ---- packets */

static bool is_dropped_by_rule(enum rl_reason reason)
{
	return reason == RL_REASON_OVER || reason == RL_REASON_BANNED || reason == RL_REASON_DENIED;
}

bool reason_is_same(enum rl_reason a, enum rl_reason b)
{
	return a == b || (is_dropped_by_rule(a) && is_dropped_by_rule(b));
}

static bool reason_is_answer(enum rl_reason reason)
{
	return reason == RL_REASON_CHALLENGED || reason == RL_REASON_TRUNCATED;
}

static uint32_t verdict_of(const struct harness *h, enum rl_reason reason)
{
	if (h->instance.info.hook == RL_HOOK_XDP && reason_is_answer(reason))
		return XDP_TX;
	if (reason == RL_REASON_CHALLENGED || reason == RL_REASON_TRUNCATED)
		return XDP_TX;
	if (h->instance.info.hook == RL_HOOK_XDP)
		return reason_is_pass(reason) ? XDP_PASS : XDP_DROP;
	return (uint32_t)(reason_is_pass(reason) ? TC_ACT_UNSPEC : TC_ACT_SHOT);
}

static uint32_t run(const struct harness *h, const struct frame *frame, uint32_t times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .repeat = times);

	if (bpf_prog_test_run_opts(h->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", frame->size, strerror(errno));
	return opts.retval;
}

bool harness_passes(struct harness *h, const struct frame *frame)
{
	return run(h, frame, 1) == verdict_of(h, RL_REASON_WITHIN);
}

void harness_repeat(struct harness *h, const struct frame *frame, uint32_t times)
{
	run(h, frame, times);
}

enum rl_reason harness_run(struct harness *h, const struct frame *frame)
{
	uint32_t verdict = run(h, frame, 1);
	enum rl_reason reason = h->skel->bss->simulated_reason;

	assert_int_equal(verdict, verdict_of(h, reason));
	return reason;
}

/* Exactly one counter has changed; it has increased by so many packets and bytes. */
static enum rl_reason reason_since(struct harness *h,
				   const struct rl_amount before[RL_REASON_COUNT], uint64_t packets,
				   uint64_t bytes)
{
	enum rl_reason reason = RL_REASON_COUNT;
	struct rl_amount now[RL_REASON_COUNT];

	harness_reasons(h, now);
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		if (!memcmp(&now[i], &before[i], sizeof(now[i])))
			continue;
		assert_int_equal(reason, RL_REASON_COUNT);
		assert_int_equal(now[i].packets - before[i].packets, packets);
		assert_int_equal(now[i].bytes - before[i].bytes, bytes);
		reason = i;
	}
	assert_int_not_equal(reason, RL_REASON_COUNT);
	return reason;
}

enum rl_reason harness_count(struct harness *h, const struct frame *frame)
{
	struct rl_amount before[RL_REASON_COUNT];
	enum rl_reason reason;
	uint32_t verdict;

	harness_reasons(h, before);
	verdict = run(h, frame, 1);
	reason = reason_since(h, before, 1, frame->size);
	assert_int_equal(verdict, verdict_of(h, reason));
	return reason;
}

enum rl_reason harness_answer(struct harness *h, const struct frame *frame, struct frame *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .data_out = out->bytes, .data_size_out = sizeof(out->bytes));
	struct rl_amount before[RL_REASON_COUNT];
	enum rl_reason reason;

	harness_reasons(h, before);
	if (bpf_prog_test_run_opts(h->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", frame->size, strerror(errno));
	out->size = opts.data_size_out;
	reason = reason_since(h, before, 1, frame->size);
	assert_int_equal(opts.retval, verdict_of(h, reason));
	return reason;
}

bool harness_pieces(struct harness *h, const struct frame *frame, uint32_t linear,
		    enum rl_reason *reason)
{
	struct rl_amount before[RL_REASON_COUNT];
	int verdict;

	harness_reasons(h, before);
	verdict = pieces_run(h->entry_fd, frame, linear);
	if (verdict == -ENOTSUP)
		return false;
	if (verdict < 0)
		fail_msg("BPF_PROG_TEST_RUN of %u bytes in pieces: %s", frame->size,
			 strerror(-verdict));
	*reason = reason_since(h, before, 1, frame->size);
	assert_int_equal(verdict, verdict_of(h, *reason));
	return true;
}

bool harness_has_empty_linear(struct harness *h)
{
	static struct frame frame;
	enum rl_reason reason;

	frame_build(&frame, "ip4 udp");
	return harness_pieces(h, &frame, 0, &reason);
}

enum rl_reason harness_skb(struct harness *h, const struct frame *frame, struct __sk_buff *skb,
			   uint64_t packets, uint64_t bytes)
{
	struct rl_amount before[RL_REASON_COUNT];
	struct __sk_buff in = *skb;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .ctx_in = &in, .ctx_size_in = sizeof(in), .ctx_out = skb,
		    .ctx_size_out = sizeof(*skb));
	enum rl_reason reason;

	harness_reasons(h, before);
	if (bpf_prog_test_run_opts(h->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", frame->size, strerror(errno));
	reason = reason_since(h, before, packets, bytes);
	assert_int_equal(opts.retval, verdict_of(h, reason));
	return reason;
}

void harness_send(struct harness *h, const struct frame *frame, bool forwarded)
{
	struct __sk_buff skb = {.ingress_ifindex = forwarded};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb), .repeat = 1);

	if (bpf_prog_test_run_opts(bpf_program__fd(h->companion->progs.rlctl_sent), &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", frame->size, strerror(errno));
	assert_int_equal(opts.retval, (uint32_t)TC_ACT_UNSPEC);
}

enum rl_reason harness_words(struct harness *h, const char *words)
{
	static struct frame frame;

	frame_build(&frame, words);
	return harness_run(h, &frame);
}

void harness_expect(struct harness *h, const char *name, const char *words, enum rl_reason reason)
{
	static struct frame frame;
	enum rl_reason found;

	frame_build(&frame, words);
	found = harness_count(h, &frame);
	if (found != reason)
		fail_msg("%s: \"%s\" is %s, not %s", name, words, reason_name(found),
			 reason_name(reason));
}

enum rl_reason harness_run_from(struct harness *h, const uint8_t addr[16])
{
	static struct frame frame;

	if (!frame.size)
		frame_build(&frame, "ip4 udp");
	frame_source(&frame, addr);
	return harness_run(h, &frame);
}

uint32_t harness_within(struct harness *h, const uint8_t addr[16], uint32_t packets)
{
	uint32_t within = 0;

	for (uint32_t i = 0; i < packets; i++)
		within += harness_run_from(h, addr) == RL_REASON_WITHIN;
	return within;
}

/* ---- words */

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

void limit_of(char *out, size_t size, enum rl_algorithm algorithm, unsigned int n)
{
	static const char *const formats[RL_ALGORITHM_COUNT] = {
		"token-bucket 24/d burst %u", "leaky-bucket 24/d queue %u",
		"fixed-window %u/12h",        "sliding-window %u/12h",
		"sliding-log %u/12h",         "warm-up 24/d ramp 1h burst 1",
	};

	snprintf(out, size, formats[algorithm], n);
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
