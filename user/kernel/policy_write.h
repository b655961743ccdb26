/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy of an instance: read, written as a whole, checked. */
#ifndef RLCTL_POLICY_WRITE_H
#define RLCTL_POLICY_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "compile.h"
#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

/* The policy in force. *out must be empty. */
int instance_policy_read(const struct instance *instance, struct policy *out);

/* Grows with every policy that comes into force; 0: none did, or it cannot be read. */
uint64_t instance_generation(const struct instance *instance);

/* Puts `next` in force at once and whole. On failure the old one stays in force. `file` names the
 * source of the rules in errors ("FILE:LINE"), NULL for a command line. */
int instance_policy_write(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const char *file);

/* Would instance_policy_write succeed? Changes nothing. */
int instance_policy_check(const struct instance *instance, struct policy *next, const char *file);

/* The policy's header; -ENOENT where none was written yet. Silent. */
int policy_header_read(const struct instance *instance, struct rl_policy_header *out);

/* Puts a header in force. Returns when no packet is left that saw the one before. Silent. */
int policy_header_swap(const struct instance *instance, const struct rl_policy_header *header);

/* Writes the rules where no packet looks yet, and makes the maps that they need. Silent. */
int compiled_rules_write(const struct instance *instance, const struct compiled *compiled);

/* fail(): why the policy could not be read, written or compiled. */
void report_unread(const struct instance *instance, int error);
int report_unwritten(const struct instance *instance, int error);
void report_compile(const struct instance *instance, const char *file,
		    const struct policy_error *err);

/* What a policy for this instance is compiled with, now. */
void instance_compile_context(const struct instance *instance, const struct policy_context *text,
			      struct compile_context *out);

/* Puts a policy that was in force before in force again: its rules, which have their identities,
 * find the states and counters that they left. */
int instance_policy_restore(const struct instance *instance, const struct policy *before);

#endif
