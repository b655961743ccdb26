/* SPDX-License-Identifier: GPL-2.0-only */
/* Which packets make their source known, and the alarms while which none does. */
#pragma once

#include "compile/build.h"

/* Emits the matches that rules have beside `new-source`, each once, unless one has none or they are
 * more than RL_KNOWN_BY_MAX; header.known_by and header.guards. 0, or -ENOMEM; errors are
 * added. */
int known_by_emit(struct build *b, const struct policy *policy);

/* Has a rule of the prefix a part in that, beside the header in force? Then the policy is written
 * as a whole. */
bool known_by_changes(const struct policy *prefix, const struct rl_policy_header *header);
