// SPDX-License-Identifier: GPL-2.0-only
/* rlctl detach: removes our program from the device, and no other. */

#include "cli/cmd.h"

static int detach(const struct command *command, void *arg)
{
	struct target target = command->target;

	(void)arg;
	if (!command->hooks)
		target.hook = -1; /* as if it were the only device named */
	return command->phase == PHASE_CHECK ? 0 : instance_detach(&target);
}

int cmd_detach(const struct command *command)
{
	struct command one = *command;
	int rc = 0;

	if (!command->hooks)
		return targets_change(command, detach, NULL);
	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++) {
		one.target.hook = hook;
		if (command->hooks & 1u << hook && targets_change(&one, detach, NULL))
			rc = -1;
	}
	return rc;
}
