// SPDX-License-Identifier: GPL-2.0-only
/* Runs the program by BPF_PROG_TEST_RUN, which costs more than a packet does: a run of the program
 * takes many packets out of mapped memory, and puts their results there. The call's own repeat
 * count would be no use: with it the kernel rewrites its code for the program, on all CPUs and each
 * time.
 */

#include "kernel/simulation.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/simulated.h"
#include "base/captured.h"
#include "base/message.h"
#include "base/units.h"
#include "compile/compile.h"
#include "kernel/attach/object.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/filters.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/scope.h"
#include "kernel/sets/set_load.h"
#include "kernel/state/bans.h"
#include "kernel/state/share_counts.h"
#include "rlctl.skel.h"

#define MTU           1500u
#define SOURCES       (1u << 20) /* 120 MB */
#define TICK_ASSUMED  (4 * NS_PER_MS)
#define LOG_DEPTH_MIN 16u /* smaller values save nothing */

/* Bytes of a frame that are passed in: the linear part in a test run with 4 KiB pages. The program
 * cannot read further, and frames of more than 70 KB would be rejected. */
#define RUN_BYTES 3520u

struct simulation {
	struct rlctl_bpf *skel;
	struct policy *policy;
	const struct policy_source *file;
	struct instance instance;
	struct kept_map kept[KEPT_MAPS];
	int policy_maps[POLICY_MAP_COUNT];
	int program_fd;
	struct rl_simulated_batch *batch; /* the element of the program's map */
	struct rl_amount headless;        /* frames without Ethernet header, which cannot be run */
};

static struct rl_instance info_make(const struct policy *policy)
{
	struct rl_instance info = {
		.abi_version = RL_ABI_VERSION,
		.hook = RL_HOOK_XDP,
		.mtu = MTU,
		.tick_ns = TICK_ASSUMED,
		.sources = SOURCES,
		.prefixes = compiled_rules_most(policy),
		.rules = compiled_rules_most(policy),
		.bans = SOURCES / 4,
		.table = RL_TABLE_LRU,
		.log_depth = LOG_DEPTH_MIN,
		.cpus = 1,
		.possible_cpus = 1,
		/* The same in each run. 0 would fold the halves of an address upon each other. */
		.hot_seed = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9},
	};

	policy_for_each (policy, rule) {
		/* The hot table may forget one packet of debt, but `share` has the buckets of
		 * senders there. */
		if (rule->action == RL_ACTION_LIMIT && rule->limit.share[0])
			info.table = RL_TABLE_HOT;
		/* The smallest ring for the sliding logs, so that as many as possible fit. */
		while (rule->limit.algorithm == RL_SLIDING_LOG &&
		       info.log_depth < rule->limit.amount && info.log_depth < RL_SLIDING_LOG_MAX)
			info.log_depth *= 2;
	}
	instance_sizes(&info);
	return info;
}

/* The parts of the program that the policy needs: with all of them the kernel would take three
 * times as long to load it. 0 if the policy cannot be compiled, which instance_policy_write
 * reports. */
static uint64_t uses_of(const struct simulation *s, const struct rl_filters *filters)
{
	const struct rl_policy_header none = {0};
	const struct policy current = {0};
	struct compiled compiled = {0};
	struct policy_errors errors;
	struct policy_context text;
	struct compile_context ctx;
	uint64_t uses;

	instance_context(&s->instance, &text);
	instance_compile_context(&s->instance, &text, &ctx);
	ctx.filters = filters;
	if (policy_compile(s->policy, &current, &none, false, &ctx, &compiled, &errors))
		return 0;
	uses = compiled.header.uses & (RL_USE_PROGRAM | RL_USE_SETS);
	compiled_clear(&compiled);
	return uses;
}

static int skeleton_load(struct simulation *s, const struct rl_filters *filters, bool in_turn)
{
	int ret;

	s->skel = object_open_with(&s->instance.info, filters);
	if (!s->skel)
		return -errno;
	s->skel->rodata->config.clock_injected = true;
	s->skel->rodata->config.frames_are_captured = true;
	s->skel->rodata->config.frames_in_pieces = true; /* as long as the capture says */
	s->skel->rodata->config.simulated_in_turn = in_turn;
	bpf_program__set_autoload(s->skel->progs.rlctl_xdp, false);
	bpf_program__set_autoload(s->skel->progs.rlctl_simulate, true);
	bpf_map__set_autocreate(s->skel->maps.simulated, true);
	bpf_map__set_autocreate(s->skel->maps.simulate_again, true);
	ret = rlctl_bpf__load(s->skel);
	if (!ret)
		return 0;
	rlctl_bpf__destroy(s->skel);
	s->skel = NULL;
	return ret;
}

/* Not every kernel has tail calls beside functions: those of arm64 since 6.0, and none without JIT.
 * Without them a run takes one packet. */
static int object_load(struct simulation *s)
{
	struct rl_filters filters;
	int ret;

	filters_of(s->policy, &filters);
	s->instance.info.program_uses = uses_of(s, &filters);
	ret = skeleton_load(s, &filters, true);
	if (ret == -EINVAL)
		ret = skeleton_load(s, &filters, false);
	if (ret)
		return ret;
	ret = object_maps_take(s->skel, &s->instance);
	s->program_fd = bpf_program__fd(s->skel->progs.rlctl_simulate);
	if (!ret)
		ret = map_put(bpf_map__fd(s->skel->maps.simulate_again), &s->program_fd);
	return ret ? ret : filters_write(&s->instance, &filters);
}

int simulation_open(struct policy *policy, uint64_t now_ns, const struct policy_source *file,
		    struct simulation **out)
{
	struct simulation *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return fail("out of memory");
	s->instance = (struct instance){
		.device = "simulate",
		.info = info_make(policy),
		.lock_fd = -1,
		.clock_injected = true,
		.now_ns = now_ns,
		.kept = s->kept,
		.policy_maps = s->policy_maps,
	};
	memset(s->policy_maps, 0xff, sizeof(s->policy_maps)); /* -1 */
	s->policy = policy;
	s->file = file;
	ret = object_load(s);
	if (!ret) {
		s->batch = map_whole(bpf_map__fd(s->skel->maps.simulated), sizeof(*s->batch),
				     PROT_READ | PROT_WRITE);
		ret = s->batch ? 0 : -errno;
	}
	if (ret == -EPERM)
		fail("simulate: running a BPF program was refused: %s: run as root (no device is "
		     "touched)",
		     strerror(-ret));
	else if (ret)
		fail("simulate: loading the BPF program failed: %s (-v shows the kernel's log)",
		     strerror(-ret));
	else
		ret = instance_policy_write(&s->instance, policy, false, file, NULL);
	if (!ret)
		ret = sets_simulate(&s->instance, policy, false);
	if (ret)
		simulation_close(s);
	else
		*out = s;
	return ret;
}

void simulation_close(struct simulation *s)
{
	if (!s)
		return;
	if (s->batch)
		munmap(s->batch, sizeof(*s->batch));
	policy_maps_close(&s->instance);
	rlctl_bpf__destroy(s->skel);
	for (size_t i = 0; i < KEPT_MAPS; i++)
		if (s->kept[i].id)
			close(s->kept[i].fd);
	free(s);
}

/* ---- the states: a policy starts over where the time of a capture jumps */

static int ban_remove(const void *key, void *instance)
{
	return ban_forget(instance, key);
}

static int shared_remove(const struct instance *instance, const struct policy *policy)
{
	const struct rl_shared_state none = {};
	struct slot_maps maps = slot_states(instance);
	int ret = 0;

	policy_for_each (policy, rule) {
		uint32_t index;
		int fd;

		if (ret || rule->action != RL_ACTION_LIMIT ||
		    (rule->limit.key != RL_KEY_RULE && !rule->limit.share[0]))
			continue;
		fd = slot_map_at(&maps, rule->counter_id, &index);
		ret = fd < 0 ? fd : bpf_map_update_elem(fd, &index, &none, BPF_ANY);
	}
	slot_maps_close(&maps);
	return ret;
}

static int array_zero(const struct instance *instance, enum policy_map map, size_t size)
{
	CLOSED int fd = policy_map_open(instance, map);
	void *at;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	at = map_whole(fd, size, PROT_READ | PROT_WRITE);
	if (!at)
		return -errno;
	memset(at, 0, size);
	munmap(at, size);
	return 0;
}

/* Counters stay. There are no batches with one CPU. */
static int states_remove(const struct instance *instance, const struct policy *policy)
{
	static const enum policy_map maps[] = {
		POLICY_MAP_sources,    POLICY_MAP_flows,    POLICY_MAP_windows, POLICY_MAP_logs,
		POLICY_MAP_fleet_keys, POLICY_MAP_accounts, POLICY_MAP_spilled};
	const struct rl_instance *info = &instance->info;
	CLOSED int bans = inner_open(instance, instance->fd.bans, 0);
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
		ret = policy_map_empty(instance, maps[i]);
	if (!ret && bans != -ENOENT) /* with their seats */
		ret = bans < 0 ? bans : map_keys_remove(bans, ban_remove, (void *)instance);
	if (!ret && info->table == RL_TABLE_HOT) {
		ret = array_zero(instance, POLICY_MAP_hot,
				 info->hot_sets * sizeof(struct rl_hot_set));
		if (!ret)
			ret = array_zero(instance, POLICY_MAP_refusals,
					 refusal_sets(info) * sizeof(struct rl_refusal_set));
		if (!ret)
			ret = share_states_restart(instance);
	}
	if (!ret)
		ret = alarms_restart(instance);
	return ret ? ret : shared_remove(instance, policy);
}

/* The end of rules with `for` becomes relative to now_ns. The policy in force is read with the old
 * time, so that expired rules keep their counters. */
int simulation_restart(struct simulation *s, uint64_t now_ns)
{
	int ret = states_remove(&s->instance, s->policy);
	bool any = false;

	if (ret)
		return fail("simulate: clearing the states failed: %s", strerror(-ret));
	policy_for_each (s->policy, rule) {
		if (rule->for_ns)
			rule->expires_ns = now_ns + rule->for_ns;
		any |= rule->for_ns != 0;
	}
	if (any)
		ret = instance_policy_write(&s->instance, s->policy, false, s->file, NULL);
	s->instance.now_ns = now_ns;
	return ret ? ret : sets_simulate(&s->instance, s->policy, true);
}

/* Runs the packets of the batch, one or more at a time. `data`: the frame of the test run. */
static int batch_run(struct simulation *s, const void *data, uint32_t size)
{
	int ret = 0;

	for (s->batch->done = 0; !ret && s->batch->done < s->batch->count;) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = size);
		uint32_t done = s->batch->done;

		ret = bpf_prog_test_run_opts(s->program_fd, &opts);
		if (!ret && s->batch->done == done)
			ret = -EIO;
	}
	if (!ret)
		return 0;
	return fail("simulate: running the BPF program failed: %s%s", strerror(-ret),
		    ret == -EPERM ? ": run as root" : "");
}

/* Puts packets into the batch until it is full, or one comes that cannot be in one. Returns how
 * many they are. */
static uint32_t batch_fill(struct rl_simulated_batch *batch, const struct captured *packets,
			   size_t count)
{
	uint32_t at = 0, n = 0;

	while (n < count && n < RL_SIMULATED_MAX && at < RL_SIMULATED_DATA &&
	       packets[n].size >= ETH_HLEN && packets[n].size <= RL_SIMULATED_FRAME) {
		batch->packets[n] = (struct rl_simulated){
			.time_ns = packets[n].time_ns,
			.bytes = packets[n].bytes,
			.at = at,
			.size = packets[n].size,
		};
		memcpy(batch->data + at, packets[n].data, packets[n].size);
		at += (packets[n].size + 7) & ~7u;
		n++;
	}
	batch->count = n;
	return n;
}

/* Runs the first packets, as many as can be together. Returns how many they are, or -1. */
static int packets_run(struct simulation *s, const struct captured *packets, size_t count,
		       struct simulated *out)
{
	static const uint8_t frame[ETH_HLEN];
	uint32_t filled = batch_fill(s->batch, packets, count);
	int ret = 0;

	if (filled) {
		ret = batch_run(s, frame, sizeof(frame));
	} else if (packets->size >= ETH_HLEN) { /* it cannot be in a batch of several */
		s->batch->packets[0] = (struct rl_simulated){
			.time_ns = packets->time_ns,
			.bytes = packets->bytes,
		};
		s->batch->count = 1;
		ret = batch_run(s, packets->data,
				packets->size < RUN_BYTES ? packets->size : RUN_BYTES);
	} else { /* a frame without Ethernet header */
		s->headless.packets++;
		s->headless.bytes += packets->bytes;
		*out = (struct simulated){.reason = RL_REASON_MALFORMED,
					  .counter_id = RL_WATCH_ANY};
	}
	if (ret)
		return -1;
	for (uint32_t i = 0; i < s->batch->count; i++)
		out[i] = (struct simulated){
			.reason = s->batch->packets[i].reason,
			.counter_id = s->batch->packets[i].counter_id,
			.cut = s->batch->packets[i].cut,
		};
	return filled ? (int)filled : 1;
}

int simulation_run_all(struct simulation *s, const struct captured *packets, size_t count,
		       struct simulated *out)
{
	for (size_t done = 0; done < count;) {
		int ret = packets_run(s, packets + done, count - done, out + done);

		if (ret < 0)
			return ret;
		done += (size_t)ret;
	}
	return 0;
}

void simulation_prove(struct simulation *s, bool is_established)
{
	s->skel->bss->simulated_proof =
		is_established ? RL_SIMULATED_ESTABLISHED : RL_SIMULATED_NONE;
	s->skel->bss->simulated_asked = 0;
}

bool simulation_has_asked(const struct simulation *s)
{
	return s->skel->bss->simulated_asked;
}

const struct instance *simulation_instance(const struct simulation *s)
{
	return &s->instance;
}

int simulation_stats_read(const struct simulation *s, struct instance_stats *out)
{
	int ret = instance_stats_read(&s->instance, out);

	if (!ret) {
		for (size_t i = 0; out->shares && i < out->policy.count; i++)
			out->shares[i].is_short =
				out->shares[i].busy_ns > s->skel->bss->clock_now_ns;
		out->reasons[RL_REASON_MALFORMED].packets += s->headless.packets;
		out->reasons[RL_REASON_MALFORMED].bytes += s->headless.bytes;
	}
	return ret;
}

int simulation_counters_read(const struct simulation *s, struct rule_counters *out)
{
	int ret = counters_read(&s->instance, s->policy, out);

	return ret ? fail("simulate: reading the counters failed: %s", strerror(-ret)) : 0;
}

int simulation_shares_read(const struct simulation *s, struct share_counts **out)
{
	int ret = share_counts_read(&s->instance, s->policy, out);

	return ret ? fail("simulate: reading the shares failed: %s", strerror(-ret)) : 0;
}

int simulation_alarm_on(struct simulation *s, const char *name)
{
	const struct alarm_pull pull = {.name = name, .on = true};
	bool was_on;
	int ret = alarm_pull(&s->instance, &pull, &was_on);

	return ret ? fail("simulate: turning alarm %s on failed: %s", name, strerror(-ret)) : 0;
}

int simulation_alarms_read(const struct simulation *s, uint64_t now_ns, struct alarms_now *out)
{
	struct instance now = s->instance;
	int ret;

	now.now_ns = now_ns;
	ret = alarms_read(&now, out);
	return ret ? fail("simulate: reading the alarms failed: %s", strerror(-ret)) : 0;
}
