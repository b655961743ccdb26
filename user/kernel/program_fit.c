// SPDX-License-Identifier: GPL-2.0-only
/* The instance map notes what the running program has the code for. A change of the program notes
 * first what the old and the new one have in common, with RL_USE_UNSETTLED: wherever a process is
 * killed, the program has at least what is noted, and that covers the policy in force. The next
 * writer then replaces the program in any case. */

#include "program_fit.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "companion.h"
#include "conntrack.h"
#include "instance.h"
#include "message.h"
#include "object.h"
#include "privilege.h"
#include "program_swap.h"
#include "report.h"
#include "rlctl.skel.h"

/* Simulations and tests have none; the program is loaded with all that their policies use. */
static bool has_pins(const struct instance *instance)
{
	return instance->path[0];
}

static int uses_note(const struct instance *instance, struct rl_instance *info, uint32_t uses)
{
	int ret = instance_info_now(instance, info);
	uint32_t zero = 0;

	if (ret)
		return ret;
	info->program_uses = uses;
	return bpf_map_update_elem(instance->fd.instance, &zero, info, BPF_ANY) ? -errno : 0;
}

static int report_change_error(const struct instance *instance, int error)
{
	fail("%s: changing its program failed: %s", instance->device, strerror(-error));
	return error;
}

static int report_may_not(const struct instance *instance)
{
	fail("%s: the policy begins to use `established`, `over challenge`, `over truncate`, a key "
	     "such as `dest+dport` or more than 8 rules for a prefix, for which the running "
	     "program is replaced: that needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_PERFMON: run it "
	     "as root (sudo)",
	     instance->device);
	return -EPERM;
}

/* Replaces the program by one with the code for `uses`. */
static int program_change(const struct instance *instance, struct rl_instance *info, uint32_t uses)
{
	uint32_t before = info->program_uses, old, new;
	struct instance next = *instance;
	int ret = uses_note(instance, info, (before & uses) | RL_USE_UNSETTLED);

	if (ret)
		return report_change_error(instance, ret);
	next.info = *info;
	next.info.program_uses = uses;
	ret = program_swap(&next, &old, &new);
	if (ret) {
		uses_note(instance, info, before);
		return ret;
	}
	ret = uses_note(instance, info, uses);
	return ret ? report_change_error(instance, ret) : 0;
}

/* *wanted becomes what the program is to have. True if it has to be replaced for that. */
static bool is_lacking(const struct rl_instance *info, uint32_t uses, uint32_t *wanted)
{
	uint32_t there = info->program_uses & RL_USE_PROGRAM;

	*wanted = there | (uses & RL_USE_PROGRAM);
	return *wanted != there;
}

/* Attach makes the companion and notes what the program will need. */
static int widen_unattached(const struct instance *instance, struct rl_instance *info,
			    uint32_t wanted)
{
	int ret = uses_note(instance, info, wanted);

	if (ret)
		return report_change_error(instance, ret);
	return instance_asks(info, wanted) ? companion_attach(instance, info) : 0;
}

/* A companion that others have removed comes back with the next policy. */
static int widen(const struct instance *instance, struct rl_instance *info, uint32_t uses,
		 uint32_t wanted)
{
	bool had_companion = info->companion;
	int ret = instance_asks(info, uses) ? companion_attach(instance, info) : 0;

	if (ret || wanted == (info->program_uses & RL_USE_PROGRAM))
		return ret;
	ret = program_change(instance, info, wanted);
	if (ret && info->companion && !had_companion)
		companion_detach(instance, info);
	return ret;
}

int program_widen(const struct instance *instance, uint32_t uses)
{
	uint32_t wanted, raised;
	struct rl_instance info;
	bool lacking;
	int ret = instance_info_now(instance, &info);

	if (ret)
		return report_change_error(instance, ret);
	lacking = is_lacking(&info, uses, &wanted);
	if (!has_pins(instance))
		return lacking ? report_change_error(instance, -EOPNOTSUPP) : 0;
	if (!lacking && !instance_asks(&info, uses))
		return 0;
	if (instance->unattached)
		return widen_unattached(instance, &info, wanted);
	if (privileges_raise(PRIVILEGES_PROGRAM, &raised))
		ret = widen(instance, &info, uses, wanted);
	else if (lacking)
		ret = report_may_not(instance);
	privileges_lower(raised);
	return ret;
}

/* Does the kernel load the program? */
static int load_check(const struct instance *instance, const struct rl_instance *info)
{
	struct rlctl_bpf *skel;
	int ret = object_asks_conntrack(info) ? conntrack_check(instance->device, info) : 0;

	if (ret)
		return ret;
	ret = object_load_pinned(instance->path, info, &skel);
	if (ret)
		return report_load_failure(instance->device, info, LOAD_STAGE_PROGRAM, ret);
	rlctl_bpf__destroy(skel);
	return 0;
}

int program_widen_check(const struct instance *instance, uint32_t uses)
{
	uint32_t wanted, raised;
	struct rl_instance info;
	int ret = instance_info_now(instance, &info);

	if (ret)
		return report_change_error(instance, ret);
	if (!is_lacking(&info, uses, &wanted))
		return 0;
	info.program_uses = wanted;
	if (privileges_raise(PRIVILEGES_PROGRAM, &raised))
		ret = load_check(instance, &info);
	privileges_lower(raised);
	return ret;
}

/* A program with more code than the policy needs is no error. */
static void program_narrow(const struct instance *instance, struct rl_instance *info, uint32_t uses)
{
	uint32_t raised, wanted = uses & RL_USE_PROGRAM;
	int ret = 0;

	if (privileges_raise(PRIVILEGES_PROGRAM, &raised)) {
		if (info->program_uses != wanted)
			ret = program_change(instance, info, wanted);
		if (!ret && info->companion && !instance_asks(info, uses))
			companion_detach(instance, info);
	}
	privileges_lower(raised);
	if (ret)
		note("%s: the policy is in force, but its program keeps code that it does not "
		     "need: the next change of the policy tries to replace it again",
		     instance->device);
}

static bool is_too_much(const struct rl_instance *info, uint32_t uses)
{
	return info->program_uses != (uses & RL_USE_PROGRAM) ||
	       (info->companion && !instance_asks(info, uses));
}

void policy_settle(const struct instance *instance, uint32_t uses)
{
	struct rl_instance info;

	if (has_pins(instance) && !instance->unattached && !instance_info_now(instance, &info) &&
	    is_too_much(&info, uses))
		program_narrow(instance, &info, uses);
	policy_maps_trim(instance, uses);
}
