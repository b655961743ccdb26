// SPDX-License-Identifier: GPL-2.0-only
/* rlctl confirm: the policy on trial stays. Where no device is named it is that of the one trial.
 */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "kernel_trial.h"

struct trials {
	size_t count;
	char device[IF_NAMESIZE]; /* of the last one */
	enum rl_hook hook;
};

static int visit(struct instance *instance, void *arg)
{
	struct trials *trials = arg;
	uint64_t left_ns;

	int ret = instance_trial_left(instance, &left_ns);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return fail("%s: whether a policy is on trial cannot be seen: %s", instance->device,
			    strerror(-ret));
	trials->count++;
	memcpy(trials->device, instance->device, sizeof(trials->device));
	trials->hook = instance->info.hook;
	return 0;
}

static int keep(const struct target *target)
{
	struct instance instance;
	int rc = instance_open(target, true, &instance);

	if (rc)
		return rc;
	rc = instance_trial_keep(&instance);
	if (!rc)
		note("%s: the policy is confirmed and stays", instance.device);
	instance_close(&instance);
	return rc;
}

int cmd_confirm(const struct command *command)
{
	struct target target = command->target;
	struct trials trials = {0};
	int rc;

	if (target.device)
		return keep(&target);
	rc = instance_for_each(&target, visit, &trials);
	if (rc)
		return rc;
	if (!trials.count)
		return fail("no policy is on trial: there is nothing to confirm");
	if (trials.count > 1)
		return fail("several policies are on trial: say which with -i DEV");
	target.device = trials.device;
	target.hook = trials.hook;
	return keep(&target);
}
