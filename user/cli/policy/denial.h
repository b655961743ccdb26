/* SPDX-License-Identifier: GPL-2.0-only */
/* The rule that denies whatever an address sends. */
#pragma once

#include <stdbool.h>

#include "base/units.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* `ADDRESS deny`, without a condition. */
bool is_plain_deny(const struct rule *rule);

struct denial {
	struct rule rule;
	uint8_t len;                  /* of the rule's prefix, or of the member (mapped) */
	bool partial;                 /* rules before it decide on some packets */
	char member[PREFIX_TEXT_MAX]; /* of the rule's set, "" without one */
	uint64_t left_ns;             /* of the rule or the member; 0: without end */
};

/* The first one that decides for the (mapped) address, unless a rule before it decides on all
 * packets. False: there is none. Exits if out of memory; reports that rules could not be read. */
bool denial_find(const struct instance *instance, const struct policy_context *ctx,
		 const uint8_t addr[16], struct denial *out);
