// SPDX-License-Identifier: GPL-2.0-only
/* Error messages that several files share. */

#include "kernel/failures.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/message.h"
#include "kernel/attach/features.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/unsupported.h"
#include "kernel/device/device.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/selection.h"
#include "kernel/policy/filters.h"

static void missing_append(const char *kind, const char *name, void *arg)
{
	struct load_failure *failure = arg;

	if (failure->count < MISSING_MAX)
		failure->missing[failure->count++] = (struct kernel_feature){kind, name};
}

static bool may_be_filters(const struct load_failure *failure)
{
	return failure->uses & RL_USE_FILTERS && !failure->count && failure->error != -ENOMEM &&
	       failure->error != -EPERM && failure->error != -ENOSYS;
}

/* `filters` NULL: they are not known. */
static int report_failure(const char *device, const struct rl_instance *info, enum load_stage stage,
			  const struct rl_filters *filters, int error)
{
	struct load_failure failure = {
		.stage = stage,
		.hook = info->mode == RL_MODE_TC ? tc_hook(info) : RL_HOOK_XDP,
		.uses = info->program_uses & RL_USE_EXTENDED,
		.error = error,
	};
	char words[LOAD_FAILURE_MAX];
	struct utsname kernel;

	uname(&kernel);
	failure.release = kernel.release;
	if (error != -ENOMEM && error != -EPERM && error != -ENOSYS)
		kernel_missing_features(info, missing_append, &failure);
	if (filters && may_be_filters(&failure)) {
		failure.filter = filter_blame(info, filters);
		failure.filter_longest = filters_longest(filters);
	}
	load_failure_format(&failure, words);
	fail("%s: %s", device, words);
	return error;
}

int report_load_failure(const char *device, const struct rl_instance *info, enum load_stage stage,
			int error)
{
	return report_failure(device, info, stage, NULL, error);
}

int report_program_refused(const char *device, const struct rl_instance *info,
			   const struct rl_filters *filters, int error)
{
	return report_failure(device, info, LOAD_STAGE_PROGRAM, filters, error);
}

int report_program_refused_at(const char *path, const char *device, const struct rl_instance *info,
			      int error)
{
	struct rl_filters filters;
	bool known = info->program_uses & RL_USE_FILTERS && !filters_read_at(path, &filters);

	return report_program_refused(device, info, known ? &filters : NULL, error);
}

int report_no_device(const char *device)
{
	if (selection_is_many(device))
		fail("no such device: %s (this takes only one device: `ip link` lists them)",
		     device);
	else
		fail("no such device: %s (`ip link` lists the devices)", device);
	return -ENODEV;
}

int report_hooks(const char *device)
{
	fail("%s: several instances, at ingress and egress: choose one with --hook", device);
	return -ENOTUNIQ;
}

int report_elsewhere(const char *device, enum rl_hook hook)
{
	fail("%s: its program runs on in another network namespace, to which the device was moved: "
	     "move it back and run `rlctl detach %s --hook %s`: until then its pins stay",
	     device, device, hook_name(hook));
	return -EXDEV;
}

int report_open_error(const char *device, enum rl_hook hook, int error)
{
	const char *option = hook ? " --hook " : "", *at = hook ? hook_name(hook) : "";

	switch (error) {
	case -ENOENT:
		if (device_index(device) == -ENODEV)
			report_no_device(device);
		else
			fail("%s: nothing attached%s%s: `rlctl attach %s%s%s`", device,
			     hook ? " at " : "", at, device, option, at);
		break;
	case -ESTALE:
		fail("%s: our program is no longer on the device (it was removed, or the device is "
		     "a new one of that name): run `rlctl attach %s%s%s` to start over, or `rlctl "
		     "detach %s --hook %s` to clean up",
		     device, device, option, at, device, hook_name(hook));
		break;
	case -EPROTO:
		fail("%s: attached by another version of rlctl: detach with that version or with "
		     "`rlctl detach %s`, then attach again",
		     device, device);
		break;
	case -ETIMEDOUT: /* lock_wait() has said it */
		break;
	default:
		fail("%s: opening the instance failed: %s%s", device, strerror(-error),
		     pins_error_hint(error));
	}
	return error;
}

const char *native_error_text(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "the driver does not support XDP";
	case -ERANGE:
	case -E2BIG:
		return "the MTU is too large for XDP with this driver";
	case -ENOSPC:
		return "too few queues for XDP with this driver";
	case -EINVAL:
		return "the driver refused it, perhaps because of its offloads (LRO, GRO-HW) or "
		       "queue count";
	default:
		return strerror(-error);
	}
}

int report_xdp_error(const char *device, int error)
{
	if (error == -EBUSY || error == -EEXIST)
		fail("%s: another XDP program is on the device that was attached without libxdp, "
		     "or in another mode: detach it first (`bpftool net show dev %s` shows it)",
		     device, device);
	else if (error == -EPERM || error == -EACCES)
		fail("%s: attaching was refused: %s: run as root", device, strerror(-error));
	else
		fail("%s: attaching failed: %s", device, native_error_text(error));
	return error;
}

int report_tc_error(const char *device, int error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		fail("%s: attaching was refused: %s: run as root", device, strerror(-error));
		break;
	case -ENOENT:
	case -EOPNOTSUPP:
		fail("%s: the kernel has neither tcx (Linux 6.6) nor clsact and cls_bpf: run "
		     "`modprobe -a sch_ingress cls_bpf`",
		     device);
		break;
	case -ENODEV:
		fail("%s: the device is gone: `ip link` lists the devices", device);
		break;
	default:
		fail("%s: attaching failed: %s", device, strerror(-error));
	}
	return error;
}
