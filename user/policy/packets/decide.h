/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules that decide on packets, in the order in which the data path finds them. Pure; for `rule
 * get` and the lockout guard.
 */
#pragma once

#include "policy/packets/asked.h"
#include "policy/policy.h"

/* Appends to *out the rules that decide on at least one of the packets, in the order in which a
 * packet meets them. Those of a set or an alarm of which nothing is known may decide, and leave the
 * packets to the rules after them as well. 0 or -ENOMEM. */
int rules_decide(const struct policy *policy, const struct asked *asked, struct policy *out);
