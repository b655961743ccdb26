/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of a few seconds, for one question. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_search.h"
#include "policy/policy.h"
#include "watch/traffic/estimate.h"

/* ---- finds sources at a limit in the hot table
 *
 * It holds no addresses: they are learnt from a sample of the packets that limits drop, and the
 * state of each is then looked up. */

/* Does a limit of the policy, or this one (NULL: any), keep states there? */
bool limited_is_hot(const struct instance *instance, const struct policy *policy,
		    const struct rule *only);

/* Watches for so many seconds. The caller frees the entries, which point into the policy; a key may
 * be among them several times. Reports. */
int limited_sample(const struct instance *instance, const struct policy *policy,
		   const struct rule *rule, uint32_t seconds, struct source_entry **out,
		   size_t *count);

/* ---- how many packets of one source, or to one destination, pass and are dropped */

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
