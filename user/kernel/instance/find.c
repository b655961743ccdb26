// SPDX-License-Identifier: GPL-2.0-only
/* Finds the program of an instance: by its maps, or by the owner record without CAP_SYS_ADMIN. Pins
 * follow a device that was renamed, so that every verb finds an instance under the device's current
 * name. The interface index, which never changes, identifies the device. */

#include "kernel/instance/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <xdp/libxdp.h>

#include "base/message.h"
#include "base/privilege.h"
#include "kernel/attach/companion.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/tcx.h"
#include "kernel/attach/trial_record.h"
#include "kernel/attach/xdp.h"
#include "kernel/device/device.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"
#include "rlctl.skel.h"

/* As device_program_find, using only netlink and the owner record; needs no CAP_SYS_ADMIN. */
static int recorded_program_find(const char *path, const char *device, enum rl_hook hook,
				 struct device_program *out)
{
	struct owner_record record;
	struct device_program found;
	int ret = owner_record_read(path, &record), ifindex;

	if (ret)
		return ret;
	if (hook != RL_HOOK_XDP || record.mode == RL_MODE_TC) {
		ret = tc_recorded_program_find(path, device, hook, record.program, out);
		out->mode = RL_MODE_TC;
		return ret;
	}
	ifindex = device_index(device);
	ret = ifindex < 0 ? ifindex : xdp_device_program(ifindex, &found);
	if (ret)
		return ret == -ENODEV ? -ENOENT : ret;
	/* If others have replaced the dispatcher, or the ids were not recorded, any program may be
	 * ours: an instance is reported missing only if it certainly is. */
	if (!found.id ||
	    (found.id != record.on_device && record.program && record.on_device == record.program))
		return -ENOENT;
	*out = (struct device_program){.id = record.program ?: found.id, .mode = found.mode};
	return 0;
}

int device_program_find(const char *device, enum rl_hook hook, uint32_t wanted,
			struct device_program *out)
{
	bool at_xdp = hook == RL_HOOK_XDP;
	int ret = at_xdp ? xdp_program_find(device, wanted, out) : -ENOENT;

	if (ret != -ENOENT)
		return ret;
	ret = tc_program_find(device, at_xdp ? RL_HOOK_INGRESS : hook, wanted, out);
	out->mode = RL_MODE_TC;
	return ret;
}

int pins_program_find(const char *path, const char *device, enum rl_hook hook,
		      struct device_program *out)
{
	uint32_t policy;
	int ret = pins_policy_id(path, &policy);

	if (ret)
		return ret;
	if (!privilege_held(PRIVILEGE_SYS_ADMIN))
		return recorded_program_find(path, device, hook, out);
	return device_program_find(device, hook, policy, out);
}

/* Another instance may have been attached since this one was opened. */
int instance_program_find(const struct instance *instance, struct device_program *out)
{
	return instance_pins_check(instance)
		       ?: pins_program_find(instance->path, instance->device, instance->info.hook,
					    out);
}

bool instance_is_attached(const char *path, const char *device, enum rl_hook hook)
{
	struct device_program program;

	return pins_program_find(path, device, hook, &program) != -ENOENT;
}

/* ---- devices that were renamed */

/* Has the device of these pins, with the program on it, another name now? */
static bool is_renamed(const char *path, const char *device, enum rl_hook hook,
		       char now[IF_NAMESIZE])
{
	struct device_program program;
	struct rl_instance info;

	return instance_info_read(path, &info) && if_nametoindex(device) != info.ifindex &&
	       if_indextoname(info.ifindex, now) && !pins_program_find(path, now, hook, &program);
}

/* Does nothing for a device whose new name already has pins; detach removes those. Does nothing
 * while a trial runs, because a trial finds its instance by path. */
int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX])
{
	char now[IF_NAMESIZE], to[INSTANCE_PATH_MAX];
	int lock, ret = pins_root(bpffs, make, out);
	struct pinned at;

	if (ret)
		return ret;
	CLOSED_DIR DIR *dir = opendir(out);
	while (dir && pins_next(dir, out, &at)) {
		if (!is_renamed(at.path, at.device, at.hook, now))
			continue;
		lock = pins_lock_within(at.path, false, LOCK_WORD_MS);
		if (lock >= 0 && is_renamed(at.path, at.device, at.hook, now) &&
		    !pins_path(out, now, at.hook, to) && trial_check(at.path) == -ENOENT &&
		    !rename(at.path, to))
			note("%s: renamed to %s, and so is its instance at %s", at.device, now,
			     hook_name(at.hook));
		pins_unlock(lock);
	}
	return 0;
}

/* ---- all programs on a device */

static void program_append(struct device_programs *out, const struct xdp_program *program)
{
	struct device_xdp_program *at = &out->list[out->count];

	if (out->count == DEVICE_PROGRAMS_MAX)
		return;
	at->id = xdp_program__id(program);
	snprintf(at->name, sizeof(at->name), "%s", xdp_program__name(program));
	out->count++;
}

int device_programs_read(int ifindex, struct device_programs *out)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *program = NULL;
	int ret = (int)libxdp_get_error(mp);

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	out->native = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE;
	out->dispatcher = !xdp_multiprog__is_legacy(mp);
	if (!out->dispatcher && xdp_multiprog__main_prog(mp))
		program_append(out, xdp_multiprog__main_prog(mp));
	while (out->dispatcher && (program = xdp_multiprog__next_prog(program, mp)))
		program_append(out, program);
	xdp_multiprog__close(mp);
	return 0;
}

/* The program of the device's instance, of which one at hook xdp may have it at tc ingress; and the
 * companions of its instances at other hooks. */
static void tc_ours_read(const char *bpffs, const char *device, enum rl_hook hook,
			 uint32_t companions[RL_HOOK_EGRESS], struct device_tcx *out)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct device_program found;
	uint32_t policy;

	if (!bpffs || pins_root_follow(bpffs, false, root))
		return;
	for (int at = RL_HOOK_XDP; at <= RL_HOOK_EGRESS; at++) {
		if (pins_path(root, device, at, path))
			continue;
		if (hook == RL_HOOK_EGRESS && at < RL_HOOK_EGRESS &&
		    !companion_find(path, device, &found))
			companions[at] = found.id;
		if (out->ours || pins_policy_id(path, &policy) ||
		    tc_program_find(device, hook, policy, &found))
			continue;
		out->ours = found.id;
		out->twice = tc_program_count(device, hook, policy) > 1;
	}
}

int device_tcx_read(const char *bpffs, const char *device, enum rl_hook hook,
		    struct device_tcx *out)
{
	uint32_t companions[RL_HOOK_EGRESS] = {0};
	struct tcx_list list;
	int ret = tcx_read(device_index(device), hook, &list);

	*out = (struct device_tcx){0};
	if (ret)
		return ret;
	_Static_assert(DEVICE_TCX_MAX == TCX_PROGRAMS_MAX, "all fit");
	tc_ours_read(bpffs, device, hook, companions, out);
	for (uint32_t i = 0; i < list.count; i++) {
		struct device_xdp_program *at = &out->list[out->count];
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (list.programs[i] == companions[0] || list.programs[i] == companions[1])
			continue;
		CLOSED int fd = bpf_prog_get_fd_by_id(list.programs[i]);
		at->id = list.programs[i];
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			snprintf(at->name, sizeof(at->name), "%s", info.name);
		out->count++;
	}
	while (out->ours && out->before < out->count && out->list[out->before].id != out->ours)
		out->before++;
	return 0;
}

bool instance_runs(const struct instance *instance, uint32_t program)
{
	uint32_t id, policy;

	return !map_id(instance->fd.policy, &policy) && program_id_uses(program, policy, &id) > 0;
}
