// SPDX-License-Identifier: GPL-2.0-only
/* Finds the hooks with an attached instance. Pins of detached instances are removed: a deleted
 * device leaves them behind, and a new device may get its name. */

#include "kernel/instance/hooks.h"

#include <errno.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/attach/companion.h"
#include "kernel/attach/program.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/stale_dispatchers.h"
#include "kernel/instance/find.h"
#include "kernel/instance/gc.h"
#include "kernel/instance/group.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/rename.h"
#include "kernel/report.h"

bool instance_is_attached(const char *root, const char *device, enum rl_hook hook)
{
	char path[INSTANCE_PATH_MAX];
	struct device_program program;

	return !pins_path(root, device, hook, path) &&
	       pins_program_find(path, device, hook, &program) != -ENOENT;
}

/* Hooks of the device with pins, as bits. */
static unsigned int hooks_pinned(const char *root, const char *device)
{
	unsigned int hooks = 0;

	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++) {
		char path[INSTANCE_PATH_MAX];

		if (!pins_path(root, device, hook, path) && !access(path, F_OK))
			hooks |= 1u << hook;
	}
	return hooks;
}

/* Hooks with an attached instance; if there is none, all hooks with pins. */
static unsigned int hooks_in_use(const char *root, const char *device)
{
	unsigned int pinned = hooks_pinned(root, device), attached = 0;

	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++)
		if (pinned & 1u << hook && instance_is_attached(root, device, hook))
			attached |= 1u << hook;
	return attached ? attached : pinned;
}

int instance_hooks(const struct target *target, unsigned int *out)
{
	char root[INSTANCE_PATH_MAX];
	int ret = pins_root_follow(target->bpffs, false, root);

	if (!ret)
		*out = hooks_in_use(root, target->device);
	return ret;
}

int hook_meant(unsigned int hooks)
{
	if (hooks & 1u << RL_HOOK_XDP)
		return RL_HOOK_XDP;
	return hooks && !(hooks & (hooks - 1)) ? __builtin_ctz(hooks) : -1;
}

int hook_choose(const char *root, const struct target *target, enum rl_hook *out)
{
	unsigned int hooks = hooks_in_use(root, target->device);
	int hook = target->hook >= 0 ? target->hook : hook_meant(hooks);

	if (hook < 0 && hooks && instance_is_attached(root, target->device, __builtin_ctz(hooks)))
		return report_hooks(target->device);
	if (hook < 0)
		hook = hooks ? __builtin_ctz(hooks) : RL_HOOK_XDP;
	*out = hook;
	return 0;
}

static void detached_clear(const char *root, const char *device, enum rl_hook hook)
{
	char path[INSTANCE_PATH_MAX];
	int lock = -1;

	if (!pins_path(root, device, hook, path))
		lock = pins_lock_within(path, false, LOCK_WORD_MS);
	if (lock < 0)
		return;
	if (!instance_is_attached(root, device, hook) && !instance_is_elsewhere(path) &&
	    !instance_clean(root, path, device))
		pins_remove(path);
	group_way_close(root);
	pins_unlock(lock);
}

void hooks_clear(const char *root, const char *device, enum rl_hook except)
{
	unsigned int pinned = hooks_pinned(root, device);

	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++)
		if (hook != (int)except && pinned & 1u << hook &&
		    !instance_is_attached(root, device, hook))
			detached_clear(root, device, hook);
}

/* Removes the pins last, so that a failed detach can be repeated. Holds the lock of all hooks, so
 * that an instance that takes over clsact will remove it. */
int instance_clean(const char *root, const char *path, const char *device)
{
	struct instance instance;
	int lock = pins_lock_all(root, LOCK_WAIT_MS), ret;

	if (lock < 0)
		return lock;
	ret = instance_open_path(path, device, true, &instance);
	if (!ret) {
		if (instance.info.companion)
			ret = companion_remove(&instance);
		if (!ret)
			ret = qdiscs_restore(root, device, &instance.info);
		instance_close(&instance);
	} else if (ret == -ENOENT || ret == -EPROTO || ret == -ELOOP) {
		ret = 0; /* incomplete, of another version, or a symbolic link replaces a pin */
	}
	stale_dispatchers_remove(path);
	if (!ret)
		ret = pins_clear(path);
	pins_unlock(lock);
	return ret;
}
