/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the compiler, for user/compile/ only: a compilation under way, and its steps. They
 * return 0, -ENOMEM, or another negative errno with b->err filled.
 */
#ifndef RLCTL_COMPILE_BUILD_H
#define RLCTL_COMPILE_BUILD_H

#include "compiled.h"
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

/* Errors: "RULE: WHAT". Return `error`. */

int build_refuse(struct build *b, const struct rule *rule, int error, const char *what);

/* "RULE: WHAT (at most MAX): REMEDY"; the rule may be NULL. */
int build_refuse_max(struct build *b, const struct rule *rule, int error, const char *what,
		     uint32_t max, const char *remedy);

#endif
