/* SPDX-License-Identifier: GPL-2.0-only */
/* Accounts (`per account N`) whose rules state different limits, for lint. Pure. */
#pragma once

#include "policy/policy.h"

/* Calls `found` for each rule whose rate or burst is not that of the first rule of its account. 0
 * or -ENOMEM. */
typedef void (*account_found_fn)(const struct rule *rule, void *arg);
int accounts_differ(const struct policy *policy, account_found_fn found, void *arg);
