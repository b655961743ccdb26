/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces the running program of an instance, at any hook, and keeps its maps. */
#pragma once

#include <stdint.h>

#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* Loads the program that instance->info asks for and puts it in the place of the running one, so
 * that no packet runs without one of them. On failure the running one stays. *before and *after are
 * ids. Call with the writers' lock. Reports. */
int program_swap(const struct instance *instance, uint32_t *before, uint32_t *after);

/* ---- makes the running program fit the policy
 *
 * Some parts of the data path are only in the programs of policies that use them (RL_USE_PROGRAM).
 */

/* Has this process the privileges for that? */
bool program_may_change(void);

/* Before this policy comes into force: the running program gets the code and the filters that it
 * lacks, and keeps what it has. On failure nothing has changed. Reports. */
int program_widen(const struct instance *instance, const struct compiled *next);

/* Would program_widen succeed? Changes nothing. Reports. */
int program_widen_check(const struct instance *instance, const struct compiled *next);

/* When this policy is in force, and no other may come back: drops the maps, the code and the
 * filters that it does not need. It reads the header and the extras of `policy`. Reports. */
void policy_settle(const struct instance *instance, const struct compiled *policy);
