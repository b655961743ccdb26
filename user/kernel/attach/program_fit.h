/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the running program fit the policy: some parts of the data path are only in the programs of
 * policies that use them (RL_USE_PROGRAM). */
#pragma once

#include <stdint.h>

#include "base/privilege.h"
#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* Before this policy comes into force: the running program gets the code and the filters that it
 * lacks, and keeps what it has. On failure nothing has changed. Reports. */
int program_widen(const struct instance *instance, const struct compiled *next);

/* Would program_widen succeed? Changes nothing. Reports. */
int program_widen_check(const struct instance *instance, const struct compiled *next);

/* When this policy is in force, and no other may come back: drops the maps, the code and the
 * filters that it does not need. It reads the header and the extras of `policy`. Reports. */
void policy_settle(const struct instance *instance, const struct compiled *policy);
