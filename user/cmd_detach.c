// SPDX-License-Identifier: GPL-2.0-only
/* rlctl detach: our program off the device; what else is there stays. */
#include "cmd.h"

int cmd_detach(const struct command *command)
{
	return instance_detach(&command->target);
}
