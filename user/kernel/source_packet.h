/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks up the state of one packet's key. */
#ifndef RLCTL_SOURCE_PACKET_H
#define RLCTL_SOURCE_PACKET_H

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"
#include "source_entry.h"

/* The state of a packet's key under the rule, and the remaining ban of its source; looks up only
 * these. Silent. */
int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out);

#endif
