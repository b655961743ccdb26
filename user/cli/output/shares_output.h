/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits with `share`: what came of each class of senders, or what each key may send. */
#pragma once

#include "cli/output/output.h"
#include "kernel/state/share_counts.h"
#include "policy/policy.h"

/* "packets" or "bytes": of the amounts. */
const char *share_unit(const struct rule *rule);

/* {"short","unit","established":{"arrived","passed","room","pace"},…}; room and pace, in a second,
 * while the limit is short. Without classes {"short","unit","keys","pace"}. */
struct json_object *json_share(const struct rule *rule, const struct share_counts *counts);

/* An empty line, a line and, of classes, a table; nothing without arrivals. If `before`, read
 * elapsed_ns earlier, is not NULL, also rates, and then the parts are of what came since. */
void share_print(const struct rule *rule, const struct policy_context *ctx,
		 const struct share_counts *now, const struct share_counts *before,
		 uint64_t elapsed_ns);
