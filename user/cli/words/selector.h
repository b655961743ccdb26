/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the one rule that the words of --rule select. */
#pragma once

#include "cli/cmd.h"

/* NULL without --rule. 0, -1 or EXIT_USAGE; reports. */
int selector_option(const struct command *command, const struct instance *instance,
		    const struct policy *policy, const struct rule **out);
