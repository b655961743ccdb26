// SPDX-License-Identifier: GPL-2.0-only
/* Attach and detach at any hook. Maps are created, pinned and filled before anything touches the
 * device, and attaching the program is the last step: a crash leaves either nothing that limits
 * or a working instance. The qdiscs that tc needs are in qdisc.c. */

#include "kernel/attach/attach.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/attach/features.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/attach/program.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/xdp.h"
#include "kernel/device/cpus.h"
#include "kernel/device/device.h"
#include "kernel/failures.h"
#include "kernel/instance/change.h"
#include "kernel/instance/find.h"
#include "kernel/instance/gc.h"
#include "kernel/instance/group.h"
#include "kernel/instance/open.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/policy/policy_write.h"
#include "kernel/scope.h"
#include "probe.skel.h"
#include "rlctl.skel.h"

#define TICKS_TO_MEASURE 4
#define EDGE_GAP_NS      20000 /* reading both clocks takes a few microseconds */

static int program_detach(const char *device, enum rl_hook hook, uint32_t wanted)
{
	bool at_xdp = hook == RL_HOOK_XDP;
	int ret = at_xdp ? xdp_program_detach(device, wanted) : 0;

	return ret ? ret : tc_program_detach(device, at_xdp ? RL_HOOK_INGRESS : hook, wanted);
}

/* ---- the clocks */

/* Waits for the next tick and reads the clocks right after it. If this process was preempted at
 * that tick, waits for another one and tolerates a larger gap, because slow or busy machines
 * preempt it at ticks. */
static int clocks_edge(int fd, uint64_t *gap_ns, struct rl_clocks *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = out, .ctx_size_in = sizeof(*out));
	int ret = bpf_prog_test_run_opts(fd, &opts);

	while (!ret) {
		struct rl_clocks before = *out;

		ret = bpf_prog_test_run_opts(fd, &opts);
		if (out->jiffies == before.jiffies)
			continue;
		if (out->monotonic_ns - before.monotonic_ns <= *gap_ns)
			break;
		*gap_ns *= 2;
	}
	return ret;
}

/* The tick length is the resolution of the coarse clock, which advances with jiffies. An edge is
 * seen late, never early, so the smallest offset is the most accurate. Measured once by a process
 * that attaches to many devices, and by those that it forks. */
static int ticks_read(struct rl_instance *info)
{
	static uint64_t tick_ns, base_ns;
	struct probe_bpf *probe = tick_ns ? NULL : probe_bpf__open_and_load();
	uint64_t gap_ns = EDGE_GAP_NS, measured_ns = tick_ns;
	struct timespec tick;
	struct rl_clocks edge = {0};
	int ret = tick_ns || probe ? 0 : -errno;

	if (!ret && clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		ret = -errno;
	for (int i = 0; !ret && !tick_ns && i < TICKS_TO_MEASURE; i++) {
		uint64_t base;

		ret = clocks_edge(bpf_program__fd(probe->progs.probe_clocks), &gap_ns, &edge);
		if (ret)
			break;
		measured_ns = tick.tv_sec * 1000000000ull + tick.tv_nsec;
		base = edge.monotonic_ns - edge.jiffies * measured_ns;
		if (!i || (int64_t)(base - base_ns) < 0)
			base_ns = base;
	}
	probe_bpf__destroy(probe);
	if (!ret)
		tick_ns = measured_ns;
	info->tick_ns = tick_ns;
	info->tick_base_ns = base_ns;
	return ret;
}

/* ---- attach */

/* Reports. */
static int marks_check(const char *device, const struct rl_instance *info,
		       const struct policy *policy)
{
	policy_for_each (policy, rule) {
		if (info->mode == RL_MODE_TC || rule->action != RL_ACTION_LIMIT ||
		    rule->limit.over != RL_OVER_MARK)
			continue;
		fail("%s: over mark (line %u of the policy) needs --hook ingress or egress, as a "
		     "packet has no mark at xdp: use over drop or over count",
		     device, rule->line);
		return -EINVAL;
	}
	return 0;
}

static int info_make(const struct target *target, const struct attach_options *options,
		     const struct policy_context *text, struct rl_instance *out)
{
	static const enum rl_mode modes[] = {[ATTACH_AUTO] = RL_MODE_NATIVE, /* tried first */
					     [ATTACH_NATIVE] = RL_MODE_NATIVE,
					     [ATTACH_GENERIC] = RL_MODE_GENERIC,
					     [ATTACH_TC] = RL_MODE_TC};
	struct device_facts facts = {0};
	int ret = device_link_ask(target->device, &facts), possible = cpus_possible();

	if (!ret && possible < 0) {
		fail("cannot read the number of possible CPUs: %s: is /sys mounted?",
		     strerror(-possible));
		ret = possible;
	}
	if (ret)
		return ret;
	*out = (struct rl_instance){
		.abi_version = RL_ABI_VERSION,
		.hook = target->hook,
		.mode = modes[options->mode],
		.by_dest = options->by_dest,
		.mtu = text->mtu,
		.ifindex = facts.ifindex,
		.raw_ip = link_has_ip(facts.link),
		.outer_ip = facts.link == LINK_GRE,
		.since_ns = clock_ns(CLOCK_REALTIME),
		.sources = options->sources,
		.prefixes = options->prefixes,
		.rules = options->rules,
		.bans = options->bans,
		.table = options->table,
		.log_depth = options->log_depth,
		.proof = options->proof,
		.challenge_rate = options->challenge_rate,
		.cpus = cpus_online(),
		.possible_cpus = possible,
	};
	ret = conntrack_check(target->device, out);
	if (ret)
		return ret;
	instance_sizes(out);
	if (getrandom(out->hot_seed, sizeof(out->hot_seed), 0) != sizeof(out->hot_seed)) {
		fail("cannot get a random seed: %s", strerror(errno));
		return -EIO;
	}
	if (options->fq)
		ret = fq_prepare(target->device, out);
	if (ret)
		return ret;
	ret = ticks_read(out);
	return ret ? report_load_failure(target->device, out, LOAD_STAGE_PROGRAM, NULL, ret) : 0;
}

/* Everything except the program, for which the object is opened again: maps, pins, --fq, policy. */
static int instance_make(const char *path, const char *device, struct rl_instance *info,
			 const struct attach_options *options, struct policy *policy)
{
	struct slot_writes writes = {0};
	struct instance instance;
	int ret = owner_record_make(path, info); /* first, because every complete instance has it */

	if (!ret)
		ret = object_maps_make(path, info, 0);
	if (!ret) {
		CLOSED int fd = pin_open_at(path, "instance", true);

		ret = fd < 0 ? fd : map_put(fd, info);
	}
	if (ret)
		return report_load_failure(device, info, LOAD_STAGE_MAPS, NULL, ret);
	if (options->has_group)
		ret = group_give(path, device, options->group);
	if (ret)
		return ret;
	ret = instance_open_maps(path, device, true, INSTANCE_MAPS_ALL, &instance);
	if (ret) {
		fail("%s: opening the new maps failed: %s", device, strerror(-ret));
		return ret;
	}
	instance.writes = &writes;
	ret = fq_put(device, info);
	if (!ret)
		ret = instance_policy_write(&instance, policy, false, NULL, NULL);
	if (!ret && !instance_info_read(path, info)) { /* with what the policy needs of it */
		fail("%s: reading the new instance failed", device);
		ret = -EIO;
	}
	inner_writes_end(&writes);
	instance_close(&instance);
	return ret;
}

/* Call with the lock held. Removes what a crash left; fails if an instance is attached. */
static int attach_point_clear(const char *path, const struct target *target)
{
	const char *device = target->device, *option = hook_option(target->hook);
	struct device_program program;
	int ret = pins_program_find(path, device, target->hook, &program);

	if (!ret) {
		fail("%s: already attached (program %u): to change its rules, run `rlctl apply -i "
		     "%s%s FILE`; to replace the program by this version's, `rlctl attach %s%s "
		     "--replace`; to start over, `rlctl detach %s%s` first",
		     device, program.id, device, option, device, option, device, option);
		return -EEXIST;
	}
	if (ret != -ENOENT)
		return target->hook == RL_HOOK_XDP ? report_xdp_error(device, ret)
						   : report_tc_error(device, ret);
	if (instance_is_elsewhere(path))
		return report_elsewhere(device, target->hook);
	ret = instance_clean(path, device);
	if (ret)
		fail("%s: removing what an earlier attach left failed: %s", device, strerror(-ret));
	return ret;
}

/* Also detaches the program: attaching may have succeeded although the kernel's reply was lost. */
static void attach_undo(const char *path, const struct target *target)
{
	uint32_t policy;

	if (!pins_policy_id(path, &policy))
		program_detach(target->device, target->hook, policy);
	instance_clean(path, target->device);
	pins_remove(path);
	group_way_close(path);
}

/* Call with the lock held and nothing attached at the hook. */
static int instance_put(const struct attach_point *point, const struct target *target,
			const struct attach_options *options, struct rl_instance *info,
			struct policy *policy)
{
	const char *path = point->path;
	int ret = instance_make(path, target->device, info, options, policy);

	if (!ret && options->ready)
		ret = options->ready(point, options->ready_arg);
	if (!ret && info->mode != RL_MODE_TC)
		ret = xdp_program_attach(path, info, target->device, options->mode);
	else if (!ret)
		ret = tc_program_put(path, info, target->device, 0);
	if (!ret)
		ret = marks_check(target->device, info, policy);
	if (ret)
		attach_undo(path, target);
	return ret;
}

int instance_attach(const struct target *target, const struct attach_options *options,
		    struct policy *policy, const struct policy_context *text)
{
	static bool swept; /* once for all devices of a command */
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct attach_point point = {.path = path, .device = target->device, .hook = target->hook};
	struct rl_instance info;
	int lock, ret = pins_root_follow(target->bpffs, true, root)
				?: pins_path(root, target->device, target->hook, path);

	if (ret)
		return ret;
	if (!swept) {
		pins_gc(root);
		gone_devices_clear(root);
	}
	swept = true;
	hooks_clear(root, target->device, target->hook);
	lock = pins_lock(path, true);
	if (lock < 0) {
		if (lock != -ETIMEDOUT)
			fail("%s: %s%s", path, strerror(-lock), pins_error_hint(lock));
		return lock;
	}
	ret = attach_point_clear(path, target);
	if (ret) {
		folders_remove(path);
	} else {
		ret = info_make(target, options, text, &info);
		point.ifindex = info.ifindex;
		point.lock_fd = &lock;
		if (!ret)
			ret = instance_put(&point, target, options, &info, policy);
		else
			pins_remove(path);
	}
	if (!ret)
		change_tell(&(struct instance_change){.kind = CHANGE_ATTACHED,
						      .path = path,
						      .device = target->device,
						      .hook = target->hook,
						      .time_ns = info.since_ns,
						      .number = policy->count});
	pins_unlock(lock);
	return ret;
}

/* ---- detach */

int instance_program_detach(const char *path, const char *device, enum rl_hook hook)
{
	uint32_t policy;
	int ret = pins_policy_id(path, &policy) ?: program_detach(device, hook, policy);

	if (!ret || ret == -ENOENT) /* incomplete, and never attached */
		return 0;
	fail("%s: detaching failed: %s%s", device, strerror(-ret),
	     ret == -EPERM ? ": run as root" : "");
	return ret;
}

int instance_teardown(const char *path, const char *device, enum rl_hook hook)
{
	int ret = instance_clean(path, device) ?: pins_remove(path);

	group_way_close(path);
	change_tell(&(struct instance_change){
		.kind = CHANGE_DETACHED, .path = path, .device = device, .hook = hook});
	if (ret)
		fail("%s: detached, but cleaning up failed: %s: run `rlctl detach %s --hook %s` "
		     "again",
		     device, strerror(-ret), device, hook_name(hook));
	return ret;
}

int instance_detach(const struct target *target)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	int lock, ret = pins_root_follow(target->bpffs, false, root);
	struct places places;
	struct pinned at;

	if (ret)
		return ret;
	pins_gc(root);
	ret = places_choose(target, &places);
	if (ret)
		return ret;
	at = places.items[0];
	places_clear(&places);
	lock = pins_lock(at.path, false);
	if (lock < 0)
		return report_open_error(at.device, at.hook, lock);
	/* Pins whose program runs elsewhere are the only way to it. */
	if (!instance_is_attached(at.path, at.device, at.hook) && instance_is_elsewhere(at.path))
		ret = report_elsewhere(at.device, at.hook);
	if (!ret)
		ret = instance_program_detach(at.path, at.device, at.hook);
	if (!ret)
		ret = instance_teardown(at.path, at.device, at.hook);
	pins_unlock(lock);
	if (target->hook < 0)
		hooks_clear(root, at.device, at.hook);
	/* Where no hook was named, an instance at another one stays. */
	for (int hook = RL_HOOK_XDP; !ret && target->hook < 0 && hook <= RL_HOOK_EGRESS; hook++)
		if (!pins_path(root, at.device, hook, path) && !access(path, F_OK))
			note("%s: the instance at %s stays: `rlctl detach %s --hook %s` detaches "
			     "it",
			     at.device, hook_name(hook), at.device, hook_name(hook));
	return ret;
}
