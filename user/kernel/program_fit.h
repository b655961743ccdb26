/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the running program fit the policy: some parts of the data path are only in the programs of
 * policies that use them (RL_USE_PROGRAM). */
#ifndef RLCTL_PROGRAM_FIT_H
#define RLCTL_PROGRAM_FIT_H

#include <stdint.h>

#include "instance.h"
#include "privilege.h"

/* The capabilities that replacing the running program takes; kept aside, and raised for that alone.
 */
#define PRIVILEGES_PROGRAM \
	(PRIVILEGE_BIT(NET_ADMIN) | PRIVILEGE_BIT(PERFMON) | PRIVILEGE_BIT(SYS_ADMIN))

/* Before a policy of these uses (enum rl_policy_use) comes into force: the running program gets the
 * code that it lacks, and keeps what it has. On failure nothing has changed. Reports. */
int program_widen(const struct instance *instance, uint32_t uses);

/* Would program_widen succeed? Changes nothing. Reports. */
int program_widen_check(const struct instance *instance, uint32_t uses);

/* When the policy in force has these uses, and no other may come back: drops the maps and the code
 * that it does not need. Reports. */
void policy_settle(const struct instance *instance, uint32_t uses);

#endif
