// SPDX-License-Identifier: GPL-2.0-only
/* attach --replace: replaces the running program and keeps its maps. Maps with a different layout
 * in this build are refused before anything changes. */

#include "kernel/attach/attach.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/attach/companion.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/attach/program_fit.h"
#include "kernel/attach/trial_record.h"
#include "kernel/device/cpus.h"
#include "kernel/failures.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/proof/answers.h"
#include "kernel/proof/peers.h"
#include "kernel/scope.h"
#include "kernel/state/bans.h"
#include "policy/policy.h"
#include "rlctl.skel.h"

#define SLOTS_MAX RL_WATCHERS /* of an array of maps */

_Static_assert(SLOTS_MAX >= 2, "tries has two");

/* ---- is the instance attached, and does its layout fit? */

static int report_layout(const char *device, enum rl_hook hook)
{
	const char *option = hook_option(hook);

	fail("%s: attached by a version of rlctl with a different map layout, so state and "
	     "counters cannot be kept: run `rlctl show -i %s%s >FILE` with that version, `rlctl "
	     "detach %s%s`, then `rlctl attach %s%s --policy FILE`",
	     device, device, option, device, option, device, option);
	return -EPROTO;
}

/* Is the map that is there as this build has it? Inner maps may have other flags, and these and
 * those of the policy another number of elements. */
static bool map_agrees(const struct bpf_map *wanted, int fd, bool is_inner, bool is_sized)
{
	struct bpf_map_info there;

	return !map_info(fd, &there) && bpf_map__type(wanted) == there.type &&
	       bpf_map__key_size(wanted) == there.key_size &&
	       bpf_map__value_size(wanted) == there.value_size &&
	       (is_inner || bpf_map__map_flags(wanted) == there.map_flags) &&
	       (!is_sized || bpf_map__max_entries(wanted) == there.max_entries);
}

static bool pin_agrees(const struct instance *instance, struct bpf_map *wanted, int fd)
{
	const struct bpf_map *inner = bpf_map__inner_map(wanted);
	bool agree = map_agrees(wanted, fd, false, true);

	for (uint32_t slot = 0; agree && inner && slot < SLOTS_MAX; slot++) {
		CLOSED int map = inner_open(instance, fd, slot);

		agree = map < 0 || map_agrees(inner, map, true, false);
	}
	return agree;
}

static bool policy_pin_agrees(const struct instance *instance, enum policy_map map,
			      const struct bpf_map *wanted)
{
	CLOSED int fd = policy_map_open(instance, map);

	return fd < 0 ? fd == -ENOENT : map_agrees(wanted, fd, false, false);
}

static int layout_check(const struct instance *instance)
{
	struct rlctl_bpf *skel = object_open(&instance->info);
	bool agree = true;

	if (!skel)
		return report_load_failure(instance->device, &instance->info, LOAD_STAGE_PROGRAM,
					   NULL, -errno);
#define PIN_CHECK(name) agree = agree && pin_agrees(instance, skel->maps.name, instance->fd.name);
	INSTANCE_MAPS(PIN_CHECK)
#undef PIN_CHECK
#define PIN_CHECK(name, uses) \
	agree = agree && policy_pin_agrees(instance, POLICY_MAP_##name, skel->maps.name);
	POLICY_MAPS(PIN_CHECK)
#undef PIN_CHECK
	rlctl_bpf__destroy(skel);
	return agree ? 0 : report_layout(instance->device, instance->info.hook);
}

int instance_replace_open(const struct target *target, struct instance *out)
{
	const char *device = target->device;
	enum rl_hook hook = target->hook;
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	int ret =
		pins_root_follow(target->bpffs, false, root) ?: pins_path(root, device, hook, path);

	if (ret)
		return ret;
	ret = instance_open_at(path, device, hook, USE_WRITE, out);
	if (ret == -EPROTO)
		return report_layout(device, hook);
	if (ret == -ENOENT)
		fail("nothing to replace on %s%s: attach without --replace", device,
		     hook_option(hook));
	else if (ret)
		report_open_error(device, hook, ret);
	if (ret)
		return ret;
	ret = layout_check(out);
	if (ret)
		instance_close(out);
	return ret;
}

/* ---- replacing */

static int info_write(struct instance *instance, const struct rl_instance *info)
{
	int ret = map_put(instance->fd.instance, info);

	if (ret)
		fail("%s: replacing failed: %s", instance->device, strerror(-ret));
	else
		instance->info = *info;
	return ret;
}

/* Writes the rules' shares before the CPU count: after a kill in between, the old count makes the
 * next run repeat it. Shares stay unchanged while a policy is on trial. */
static int shares_renew(struct instance *instance)
{
	struct instance renewed = *instance;
	struct policy policy = {0};
	int ret, online = cpus_online();

	if (online < 0 || (uint32_t)online == instance->info.cpus || !trial_check(instance->path))
		return 0;
	renewed.info.cpus = online;
	ret = instance_policy_read(instance, &policy);
	if (!ret)
		ret = instance_policy_write(&renewed, &policy, true, NULL, NULL);
	policy_clear(&policy);
	if (ret)
		return ret;
	if (instance_info_read(instance->path, &renewed.info)) /* it may have another program */
		renewed.info.cpus = online;
	return info_write(instance, &renewed.info);
}

/* The number of prefixes is only a limit: writing a policy creates the maps for them. */
static int sizes_raise(struct instance *instance, const struct sizes *wanted)
{
	bool more_prefixes = wanted->prefixes > instance->info.prefixes;
	bool more_bans = wanted->bans > instance->info.bans;
	struct rl_instance info = instance->info;
	int ret = more_bans ? bans_grow(instance, wanted->bans) : 0;

	if (ret) {
		fail("%s: making room for %u bans failed: %s", instance->device, wanted->bans,
		     strerror(-ret));
		return ret;
	}
	if (more_bans)
		info.bans = wanted->bans;
	if (more_prefixes)
		info.prefixes = wanted->prefixes;
	return more_bans || more_prefixes ? info_write(instance, &info) : 0;
}

int instance_replace(struct instance *instance, const struct sizes *wanted)
{
	struct rl_instance info;
	uint32_t now, before;
	int ret = sizes_raise(instance, wanted) ?: shares_renew(instance);

	if (!ret && instance_asks(&instance->info, instance->info.program_uses))
		ret = companion_replace(instance, &instance->info);
	if (!ret && instance->info.program_uses & RL_USE_ANSWERS)
		answers_make(instance); /* the addresses may be others now */
	if (!ret && instance->info.program_uses & RL_USE_PROOF &&
	    instance->info.proof == RL_PROOF_SOCKETS)
		ret = peers_make(instance); /* it may be possible now */
	if (!ret)
		ret = program_swap(instance, &before, &now);
	if (!ret && instance->info.program_uses & RL_USE_UNSETTLED) {
		info = instance->info;
		instance_info_read(instance->path,
				   &info);           /* others may have changed it meanwhile */
		info.program_uses &= RL_USE_PROGRAM; /* an interrupted change of it is over */
		ret = info_write(instance, &info);
	}
	if (!ret)
		note("%s: program %u at %s replaced by %u; policy, state and counters stay",
		     instance->device, before, hook_name(instance->info.hook), now);
	return ret;
}
