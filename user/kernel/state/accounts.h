/* SPDX-License-Identifier: GPL-2.0-only */
/* The buckets of accounts (`per account N`), which all instances of a network namespace share. */
#pragma once

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* Gives the instance those of the others, else a new map, unless it has one. Call with the writers'
 * lock. */
int accounts_make(const struct instance *instance);

/* The state of an account by the id of its limits; zero if it has none. */
int account_read(const struct instance *instance, uint32_t limit_id, struct rl_state *out);

/* Removes the accounts whose bucket is as good as new: those whose rules are gone are among them
 * sooner or later. A packet at this moment may cost nothing. */
int accounts_sweep(const struct instance *instance);
