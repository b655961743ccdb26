/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the policy of an instance. */
#pragma once

#include <stdint.h>

#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "kernel/policy/header_in_force.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The policy in force. *out must be empty. Reports. */
int instance_policy_read(const struct instance *instance, struct policy *out);

/* Reads out->extras, of the policy that out->header is of. 0 or a negative errno. */
int extras_read(const struct instance *instance, struct compiled *out);

/* As instance_policy_read, with the context that the caller has, and the header. Reports. */
int policy_read(const struct instance *instance, const struct compile_context *ctx,
		struct rl_policy_header *header, struct policy *out);

/* The context for compiling a policy for this instance now. */
void instance_compile_context(const struct instance *instance, const struct policy_context *text,
			      struct compile_context *out);

/* Reports why the policy could not be read. */
void report_read_error(const struct instance *instance, int error);

/* ---- reads the rules of one prefix or address, at a cost that does not grow with the policy */

/* The rules of the prefix of the given rule; 0 and an empty *out if there are none. *out must be
 * empty. Reports. */
int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out);

/* A part of the policy as a policy of its own, without comments, and the header in force: the rules
 * of the prefix; `all`: of all prefixes that hold it, of all sets, of `any` and of `device`. 1 if
 * the trie has such a prefix, -ENOENT if no policy was written yet. Silent. */
int policy_part_read(const struct instance *instance, const struct rule *prefix, bool all,
		     struct rl_policy_header *header, struct policy *out);

/* The rules of all prefixes that hold the address (mapped), of all sets, of `any` and of `device`.
 * Reports. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out);
