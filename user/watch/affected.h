/* SPDX-License-Identifier: GPL-2.0-only */
/* How many packets of one source, or to one destination, pass and are dropped: sampled for a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "watch/estimate.h"

struct affected {
	uint8_t addr[16], len; /* the address (mapped) as limits count it: talker_bits() */
	struct estimate passed, dropped; /* packets */
	/* These have most of the drops; valid if there are any. */
	uint32_t counter_id; /* of the rule; RL_WATCH_ANY: none */
	uint8_t reason;      /* enum rl_reason */
};

/* Watches an instance, which is open for writing or shared, for so many seconds. Reports. */
int affected_watch(const struct instance *instance, const uint8_t addr[16], bool by_dest,
		   uint32_t seconds, struct affected *out);
