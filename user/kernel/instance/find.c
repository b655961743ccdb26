// SPDX-License-Identifier: GPL-2.0-only
/* Finds the program of an instance: by its maps, or by the owner record without CAP_SYS_ADMIN. Pins
 * follow a device that was renamed, so that every verb finds an instance under the device's current
 * name. The interface index, which never changes, identifies the device. */

#include "kernel/instance/find.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "base/privilege.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/program.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/trial_record.h"
#include "kernel/attach/xdp.h"
#include "kernel/device/device.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/owner.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"

/* If others have replaced the dispatcher, or the ids were not recorded, any program may be ours: an
 * instance is reported missing only if it certainly is. */
static bool may_be_ours(const struct owner_record *record, uint32_t on_device)
{
	return on_device && (on_device == record->on_device ||
			     record->on_device != record->program || !record->program);
}

static int recorded_xdp_find(const char *device, const struct owner_record *record,
			     struct device_program *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int ifindex = device_index(device);
	int ret = ifindex < 0 ? ifindex : bpf_xdp_query(ifindex, 0, &query);

	if (ret)
		return ret == -ENODEV ? -ENOENT : ret;
	if (!may_be_ours(record, query.prog_id))
		return -ENOENT;
	*out = (struct device_program){
		.id = record->program ?: query.prog_id,
		.mode = query.attach_mode == XDP_ATTACHED_DRV ? RL_MODE_NATIVE : RL_MODE_GENERIC};
	return 0;
}

int recorded_program_find(const char *path, const char *device, enum rl_hook hook,
			  struct device_program *out)
{
	struct owner_record record;
	int ret = owner_record_read(path, &record);

	if (ret)
		return ret;
	if (hook == RL_HOOK_XDP && record.mode != RL_MODE_TC)
		return recorded_xdp_find(device, &record, out);
	ret = tc_recorded_program_find(path, device, hook, record.program, out);
	out->mode = RL_MODE_TC;
	return ret;
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
	uint32_t policy, pinned;
	int ret = map_id(instance->fd.policy, &policy);

	if (!ret)
		ret = pins_policy_id(instance->path, &pinned);
	if (ret)
		return ret;
	if (policy != pinned)
		return -ENOENT;
	return pins_program_find(instance->path, instance->device, instance->info.hook, out);
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

/* Does nothing if the new name already has pins; detach removes those. Does nothing while a trial
 * runs, because a trial finds its instance by path. */
static void pins_rename(const char *root, const char *path, const char *device, enum rl_hook hook)
{
	char now[IF_NAMESIZE], to[INSTANCE_PATH_MAX];
	int lock = pins_lock_within(path, false, LOCK_WORD_MS);

	if (lock < 0)
		return;
	if (is_renamed(path, device, hook, now) && !pins_path(root, now, hook, to) &&
	    trial_check(path) == -ENOENT && !rename(path, to))
		note("%s: renamed to %s, and so is its instance at %s", device, now,
		     hook_name(hook));
	pins_unlock(lock);
}

int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX])
{
	int ret = pins_root(bpffs, make, out);
	char now[IF_NAMESIZE];
	struct pinned at;
	DIR *dir;

	if (ret)
		return ret;
	dir = opendir(out);
	while (dir && pins_next(dir, out, &at))
		if (is_renamed(at.path, at.device, at.hook, now))
			pins_rename(out, at.path, at.device, at.hook);
	if (dir)
		closedir(dir);
	return 0;
}
