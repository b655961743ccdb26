// SPDX-License-Identifier: GPL-2.0-only
/* What rig.h says; policies go in through user/kernel/policy_write.c, as on a device. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "rlctl.skel.h"
#include "units.h"

#define CPUS_MAX   256
#define POLICY_MAX 8192

/* ---- loading */

static struct rl_instance info_of(const struct rig_options *options)
{
	struct rl_instance info = {
		.abi_version = RL_ABI_VERSION,
		.by_dest = options->by_dest,
		.mtu = 1500,
		.tick_ns = 4 * NS_PER_MS,
		.sources = options->sources ? options->sources : 4096,
		.prefixes = 4096,
		.bans = options->bans,
		.table = options->table,
		.log_depth = options->log_depth ? options->log_depth : 64,
		.cpus = libbpf_num_possible_cpus(),
		.possible_cpus = libbpf_num_possible_cpus(),
		.hot_seed = {options->seed[0], options->seed[1]},
	};

	instance_sizes(&info);
	return info;
}

static int object_load(struct rig *rig)
{
	rig->skel = object_open(&rig->instance.info);
	if (!rig->skel)
		return -errno;
	rig->skel->rodata->clock_injected = true;
	if (rlctl_bpf__load(rig->skel))
		return -errno;
#define TAKE_FD(map) rig->instance.fd.map = bpf_map__fd(rig->skel->maps.map);
	INSTANCE_MAPS(TAKE_FD)
#undef TAKE_FD
	rig->program_fd = bpf_program__fd(rig->skel->progs.rlctl_xdp);
	return rig->instance.info.table == RL_TABLE_HOT ? hot_open(&rig->instance, &rig->table) : 0;
}

struct rig *rig_open(const struct rig_options *options)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (!rig)
		return NULL;
	rig->instance.info = info_of(options);
	rig->instance.clock_injected = true;
	snprintf(rig->instance.device, sizeof(rig->instance.device), "rig");
	if (object_load(rig)) {
		fprintf(stderr, "the program could not be loaded\n");
		rig_close(rig);
		return NULL;
	}
	rig_clock(rig, NS_PER_DAY);
	return rig;
}

void rig_close(struct rig *rig)
{
	if (!rig)
		return;
	if (rig->table.sets)
		hot_close(&rig->table);
	rlctl_bpf__destroy(rig->skel);
	free(rig);
}

/* ---- frames */

void frame_build(struct frame *frame, const char *words)
{
	shape_build(&frame->shape, words);
}

static bool frame_is_ip4(const struct frame *frame)
{
	return frame->shape.bytes[frame->shape.ip_at] >> 4 == 4;
}

void frame_source(struct frame *frame, const uint8_t addr[16])
{
	uint8_t *ip = frame->shape.bytes + frame->shape.ip_at;

	if (frame_is_ip4(frame))
		memcpy(ip + 12, addr + 12, 4);
	else
		memcpy(ip + 8, addr, 16);
}

void frame_dest(struct frame *frame, const uint8_t addr[16])
{
	uint8_t *ip = frame->shape.bytes + frame->shape.ip_at;

	if (frame_is_ip4(frame))
		memcpy(ip + 16, addr + 12, 4);
	else
		memcpy(ip + 24, addr, 16);
}

void frame_ports(struct frame *frame, uint16_t sport, uint16_t dport)
{
	uint32_t at = frame->shape.udp_at ? frame->shape.udp_at : frame->shape.tcp_at;
	uint8_t ports[4] = {sport >> 8, sport, dport >> 8, dport};

	memcpy(frame->shape.bytes + at, ports, sizeof(ports));
}

void address_ip4(uint8_t out[16], uint32_t number)
{
	uint8_t addr[16] = {[10] = 0xff, 0xff, 10, number >> 16, number >> 8, number};

	memcpy(out, addr, sizeof(addr));
}

void address_ip6(uint8_t out[16], uint32_t network, uint32_t host)
{
	uint8_t addr[16] = {0x20, 0x01, 0x0d, 0xb8};

	for (int i = 0; i < 4; i++) {
		addr[7 - i] = network >> 8 * i;
		addr[15 - i] = host >> 8 * i;
	}
	memcpy(out, addr, sizeof(addr));
}

/* ---- policies and time */

void rig_policy(struct rig *rig, const char *rules)
{
	char text[POLICY_MAX] = "", copy[POLICY_MAX], *rest = NULL;
	struct policy_error err = {0};
	struct policy_context ctx;
	struct policy policy = {0};

	assert_true((size_t)snprintf(copy, sizeof(copy), "%s", rules) < sizeof(copy));
	for (char *r = strtok_r(copy, ";", &rest); r; r = strtok_r(NULL, ";", &rest)) {
		size_t used = strlen(text);

		assert_true(used + strlen(r) + 8 < sizeof(text));
		snprintf(text + used, sizeof(text) - used, "rule %s\n", r);
	}
	instance_context(&rig->instance, &ctx);
	if (policy_parse(text, strlen(text), &ctx, NULL, &policy, &err))
		fail_msg("%s\n%u:%u: %s", text, err.line, err.column, err.text);
	assert_int_equal(instance_policy_write(&rig->instance, &policy, true, "policy"), 0);
	policy_clear(&policy);
}

void rig_clock(struct rig *rig, uint64_t now_ns)
{
	rig->skel->bss->clock_now_ns = now_ns;
	rig->instance.now_ns = now_ns;
	rig->now_ns = now_ns;
}

/* ---- packets */

bool rig_passes(struct rig *rig, const struct frame *frame)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->shape.bytes,
		    .data_size_in = frame->shape.size);

	if (bpf_prog_test_run_opts(rig->program_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN: %s", strerror(errno));
	return opts.retval == XDP_PASS;
}

enum rl_reason rig_run(struct rig *rig, const struct frame *frame)
{
	bool passes = rig_passes(rig, frame);
	enum rl_reason reason = rig->skel->bss->simulated_reason;

	assert_int_equal(passes, reason_is_pass(reason));
	return reason;
}

enum rl_reason rig_run_from(struct rig *rig, const uint8_t addr[16])
{
	static struct frame frame;

	if (!frame.shape.size)
		frame_build(&frame, "ip4 udp");
	frame_source(&frame, addr);
	return rig_run(rig, &frame);
}

uint32_t rig_within(struct rig *rig, const uint8_t addr[16], uint32_t packets)
{
	uint32_t within = 0;

	for (uint32_t i = 0; i < packets; i++)
		within += rig_run_from(rig, addr) == RL_REASON_WITHIN;
	return within;
}

/* ---- what is in the maps */

struct rl_rule rig_numbers(struct rig *rig, uint32_t index)
{
	struct policy_context text;
	struct compile_context ctx;
	struct policy policy = {0};
	struct rl_rule numbers = {0};

	assert_int_equal(instance_policy_read(&rig->instance, &policy), 0);
	assert_true(index < policy.count);
	instance_context(&rig->instance, &text);
	instance_compile_context(&rig->instance, &text, &ctx);
	numbers.limit = policy.rules[index].limit;
	numbers.limit_id = policy.rules[index].limit_id;
	numbers_compile(&numbers.limit, &ctx, &numbers);
	numbers.flags |= policy.rules[index].lane << RL_RULE_LANE_SHIFT;
	policy_clear(&policy);
	return numbers;
}

struct hot_key rig_key(struct rig *rig, const struct rl_rule *numbers, const uint8_t addr[16])
{
	const struct rl_instance *info = &rig->instance.info;
	bool ipv4 = prefix_is_ipv4(addr, 128);
	__u64 half[2];
	uint64_t hash;

	memcpy(half, addr, sizeof(half));
	if (numbers->flags & RL_RULE_HOME)
		hash = hot_hash_address(info->hot_seed, ipv4, half);
	else
		hash = hot_hash_masked(info->hot_seed, ipv4, half, numbers);
	return hot_key_of(hash, hot_rest(numbers->limit_id, 0, 0),
			  numbers->flags >> RL_RULE_LANE_SHIFT, info->hot_sets - 1);
}

struct rl_hot_slot *rig_slot(struct rig *rig, const struct rl_rule *numbers, const uint8_t addr[16])
{
	struct hot_key key = rig_key(rig, numbers, addr);
	struct rl_hot_set *set = &rig->table.sets[key.set];

	for (int i = 0; i < RL_HOT_WAYS; i++)
		if ((set->slot[i].fingerprint & ~HOT_FLAGS) == key.fingerprint)
			return &set->slot[i];
	return NULL;
}

void rig_neighbours(struct rig *rig, const struct rl_rule *numbers, uint8_t from,
		    uint8_t (*out)[16], uint32_t count)
{
	uint32_t set = 0, found = 0;

	for (uint32_t i = (uint32_t)from << 16; found < count; i++) {
		struct hot_key key;

		address_ip4(out[found], i);
		key = rig_key(rig, numbers, out[found]);
		if (!found)
			set = key.set;
		found += key.set == set;
	}
}

uint64_t rig_pressure(struct rig *rig, enum rl_pressure what)
{
	uint64_t each[CPUS_MAX], sum = 0;
	uint32_t key = what;

	assert_true(rig->instance.info.cpus <= CPUS_MAX);
	assert_int_equal(bpf_map_lookup_elem(rig->instance.fd.pressure, &key, each), 0);
	for (uint32_t cpu = 0; cpu < rig->instance.info.cpus; cpu++)
		sum += each[cpu];
	return sum;
}

size_t rig_forgive(struct rig *rig, const uint8_t addr[16])
{
	struct source_entry *entries = NULL;
	struct policy policy = {0};
	size_t count = 0;

	assert_int_equal(instance_policy_read(&rig->instance, &policy), 0);
	assert_int_equal(instance_source_read(&rig->instance, &policy, addr, &entries, &count), 0);
	assert_int_equal(instance_source_forgive(&rig->instance, entries, count), 0);
	free(entries);
	policy_clear(&policy);
	return count;
}

/* ---- chance */

uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

uint32_t random_of(uint64_t *seed, uint32_t bound)
{
	return (random_next(seed) >> 32) % bound;
}
