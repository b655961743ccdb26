/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of bans. */
#ifndef RLCTL_BANS_H
#define RLCTL_BANS_H

#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

/* The maps of bans, if they are not there. */
int bans_make(const struct instance *instance);
/* Puts larger ones in their place, if they are there, with all that is in force. Meanwhile, for
 * some milliseconds, no ban begins. */
int bans_grow(const struct instance *instance, uint32_t count);
/* When the key's ban ends; 0: it has none. */
uint64_t ban_until(const struct instance *instance, const struct rl_state_key *key);
int ban_forget(const struct instance *instance, const struct rl_state_key *key);

#endif
