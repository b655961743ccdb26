/* SPDX-License-Identifier: GPL-2.0-only */
/* Creates, enlarges and reads the maps that hold bans. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
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

/* ---- the seats, for who looks for bans that begin and end; silent */

struct ban_seats {
	int fd;
	uint32_t id;    /* of the map: another one after bans_grow() */
	uint32_t count; /* seats 1..count */
	uint64_t hand;  /* seats that new bans have looked at since the map was made: the next is
			   hand % count + 1 */
};

/* -ENOENT: no rule has banned yet. Close its fd. */
int ban_seats_open(const struct instance *instance, struct ban_seats *out);
/* Seats first..first + count - 1. A ban that begins meanwhile may be read in part. */
int ban_seats_read(const struct ban_seats *seats, uint32_t first, uint32_t count,
		   struct rl_ban_seat *out);
