// SPDX-License-Identifier: GPL-2.0-only
/* rlctl detach: removes our program from the device, and no other. */

#include "attach.h"
#include "cmd.h"
#include "instance.h"

int cmd_detach(const struct command *command)
{
	struct target target = command->target;
	int rc = 0;

	if (!command->hooks)
		return instance_detach(&target);
	for (target.hook = RL_HOOK_XDP; target.hook <= RL_HOOK_EGRESS; target.hook++)
		if (command->hooks & 1u << target.hook && instance_detach(&target))
			rc = -1;
	return rc;
}
