/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether an address is affected: for `source show`. */
#pragma once

#include "cli/cmd.h"
#include "cli/policy/denial.h"
#include "kernel/state/share_counts.h"
#include "watch/traffic/look.h"

struct source_answer {
	bool denied;
	struct denial denial;
	uint64_t ban_ns; /* left of the ban from everything; 0: none */
	uint32_t seconds;
	bool watched; /* for so many seconds; else this process may not */
	struct affected affected;
	bool asks_known, known; /* the policy asks; the source is known */
};

/* Watches the target's instance, which is open, for so many seconds. 1, 0 if this process may not,
 * or < 0; reports. */
int source_watch(const struct command *command, const struct instance *instance,
		 const uint8_t addr[16], bool by_dest, uint32_t seconds, struct affected *out);

/* The line of what was watched, and "packets" of the document. */
void source_packets_report(const struct affected *affected, uint32_t seconds,
			   const struct policy *policy, const struct policy_context *ctx,
			   struct json_object *document);

/* Watches the target's instance, which is open, if this process may. 0 or < 0; reports. */
int source_answer_read(const struct command *command, const struct instance *instance,
		       const struct policy *policy, const struct policy_context *ctx,
		       const uint8_t addr[16], struct source_answer *out);

/* Lines, and members of the document. */
void source_answer_report(const struct source_answer *answer, const struct policy *policy,
			  const struct policy_context *ctx, const char *address,
			  struct json_object *document);

/* The parts that the (mapped) address has of limits that classes of senders share: a line for each
 * that counts its packets, and "shares" of the document. Its packets are not established; is it
 * known? Counts are as share_counts_read() has them. */
void source_shares_report(const uint8_t addr[16], bool known, const struct policy *policy,
			  const struct policy_context *ctx, const struct share_counts *counts,
			  struct json_object *document);
