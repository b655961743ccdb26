/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the compiler, for user/compile/ only: a compilation under way, and its steps. They
 * return 0, -ENOMEM, or another negative errno after which the compilation cannot continue; errors
 * of single rules are added to b->errors, and the compilation continues to find more of them.
 */
#pragma once

#include "compile/compiled.h"
#include "policy/policy.h"

struct build {
	const struct compile_context *ctx;
	struct compiled *out;
	const struct policy *current; /* in force */
	const struct policy *sets;    /* the policy whose sets have their numbers */
	const struct policy *next;    /* the policy whose alarms rules name */
	struct policy_errors *errors;
	int error;           /* of the first of them; 0: none */
	uint32_t base;       /* index of out->rules[0] in the rules array */
	unsigned char *used; /* one bit per slot: in use by the current or the next policy */
	uint32_t next_slot;
	uint32_t slots_end;        /* after the last slot of both policies */
	struct rl_filters filters; /* those of the program, and of this policy */
};

/* Add an error: "RULE: WHAT". Return `error`. */

int build_refuse(struct build *b, const struct rule *rule, int error, const char *what);

/* "RULE: WHAT (at most MAX): REMEDY"; the rule may be NULL. */
int build_refuse_max(struct build *b, const struct rule *rule, int error, const char *what,
		     uint32_t max, const char *remedy);

/* The rules array has no room for the policy. */
void build_refuse_room(struct build *b);
