/* SPDX-License-Identifier: GPL-2.0-only */
/* Creates, enlarges and reads the maps that hold bans. */
#ifndef RLCTL_BANS_H
#define RLCTL_BANS_H

#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

/* Creates the maps unless they exist. Silent. */
int bans_make(const struct instance *instance);
/* Replaces the maps, if they exist, by larger ones that keep all bans in force. For the few
 * milliseconds that this takes, no new ban begins. Silent. */
int bans_grow(const struct instance *instance, uint32_t count);
/* Drops the maps unless a source is banned from everything, which a later policy would go on
 * holding. Call while no rule bans. Silent. */
void bans_drop(const struct instance *instance);
/* CLOCK_MONOTONIC time at which the key's ban ends; 0: not banned. */
uint64_t ban_until(const struct instance *instance, const struct rl_state_key *key);
int ban_forget(const struct instance *instance, const struct rl_state_key *key);

#endif
