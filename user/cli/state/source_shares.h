/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts that an address has of limits that classes of senders share: for `source show`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/output/output.h"
#include "kernel/instance/instance.h"
#include "kernel/state/share_counts.h"
#include "policy/policy.h"

/* An address and its class, unless its packets are established. */
struct source_class {
	const uint8_t *addr; /* mapped */
	bool known;
};

/* Prints a line for each such limit that counts packets of the address, or with -j adds "shares" to
 * the document. Counts are as share_counts_read() has them, perhaps NULL. */
void source_shares_report(const struct source_class *source, const struct policy *policy,
			  const struct policy_context *ctx, const struct share_counts *counts,
			  struct json_object *document);
