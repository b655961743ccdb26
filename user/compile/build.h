/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the compiler, for user/compile/ only: a compilation under way, and its steps. They
 * return 0, -ENOMEM, or another negative errno with b->err filled.
 */
#ifndef RLCTL_COMPILE_BUILD_H
#define RLCTL_COMPILE_BUILD_H

#include "compile.h"
#include "policy.h"

struct build {
	const struct compile_context *ctx;
	struct compiled *out;
	struct policy_error *err;
	uint32_t base;       /* index of out->rules[0] in the rules array */
	unsigned char *used; /* one bit per slot: in use by the current or the next policy */
	uint32_t next_slot;
	uint32_t slots_end; /* after the last slot of both policies */
};

/* ---- build.c: errors, "RULE: WHAT". Return `error`. */

int build_refuse(struct build *b, const struct rule *rule, int error, const char *what);

/* "RULE: WHAT (at most MAX): REMEDY"; the rule may be NULL. */
int build_refuse_max(struct build *b, const struct rule *rule, int error, const char *what,
		     uint32_t max, const char *remedy);

/* ---- inherit.c: what the rules of `next` keep of the current policy */

/* Sets slot, limit id and expiry of every rule. */
int rules_inherit(struct build *b, struct policy *next, const struct policy *current,
		  bool keep_expiry);

/* Sets the lane of every rule. */
void lanes_choose(struct policy *next);

/* ---- emit.c: rules and prefixes to map entries */

int rules_emit(struct build *b, const struct policy *policy);

/* Is the prefix fe80::/10? A rule for it may apply to neighbour discovery of any address. */
bool is_link_local_prefix(const struct rule *rule);

/* Does the device have rules that must be matched one by one? */
bool device_asks_each(const struct rl_policy_header *header);

/* Marks the rules whose refusals the data path may cache (bpf/refusal.h). */
void refusals_choose(struct build *b);

#endif
