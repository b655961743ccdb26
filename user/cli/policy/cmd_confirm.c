// SPDX-License-Identifier: GPL-2.0-only
/* rlctl confirm: keeps what is on trial; with several trials, one must be named. */
#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "cli/cmd.h"
#include "kernel/attach/trial.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"

struct trials {
	size_t count;
	char device[IF_NAMESIZE]; /* of the last trial found */
	enum rl_hook hook;
};

static int visit(struct instance *instance, void *arg)
{
	struct trials *trials = arg;
	struct trial_left left;
	int ret = instance_trial_left(instance, &left);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return fail("%s: reading the trial failed: %s", instance->device, strerror(-ret));
	trials->count++;
	memcpy(trials->device, instance->device, sizeof(trials->device));
	trials->hook = instance->info.hook;
	return 0;
}

static int keep(const struct target *target)
{
	struct instance instance;
	enum trial_kind kind;
	int rc = instance_open(target, true, &instance);

	if (rc)
		return rc;
	rc = instance_trial_keep(&instance, &kind);
	if (!rc)
		note("%s: the %s is confirmed", instance.device, trial_kind_name(kind));
	instance_close(&instance);
	return rc;
}

int cmd_confirm(const struct command *command)
{
	struct target target = command->target;
	struct trials trials = {0};
	int rc = instance_for_each(&target, visit, &trials);

	if (rc)
		return rc;
	if (!trials.count && target.device)
		return keep(&target); /* reports the absence */
	if (!trials.count)
		return fail("nothing is on trial: nothing to confirm");
	if (trials.count > 1)
		return fail("several trials are running%s%s: choose one with %s",
			    target.device ? " on " : "", target.device ? target.device : "",
			    target.device ? "--hook HOOK" : "-i DEV");
	target.device = trials.device;
	target.hook = trials.hook;
	return keep(&target);
}
