/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the tests of compile.c: policies from text, compiled one after the other as an
 * instance would, and a compact text of the result.
 */
#pragma once

#include "compile/compile.h"

/* The policy in force in an imaginary instance. */
struct force {
	struct compile_context ctx;
	struct policy policy;
	struct rl_policy_header header;
};

/* Room for all; two hours since boot. */
extern const struct compile_context roomy;

/* The policy that a text states (statements apart by '\n' or ';'); the test fails where it is none.
 * To be cleared. */
struct policy must_parse_policy(const char *text);

/* Compiles; the test fails where that does. */
void must_compile(struct policy *next, const struct force *force, bool keep, struct compiled *out);

/* Compiles the text and puts it in force, as rules and header read back from the maps. */
void force_put(struct force *force, const char *text, bool keep);
void force_clear(struct force *force);

/* The only rule in force of this line's identity; the test fails where there is none. */
const struct rule *force_find(const struct force *force, const char *line);

/* Everything where it should be: ranges inside the half in force, side by side, all used. */
void assert_layout(const struct compiled *compiled, const struct compile_context *ctx);

/* `device[…] any[…] PREFIX action` or `[action action …]`, in the order of the maps. */
#define DUMP_MAX 4096
void compiled_dump(const struct compiled *compiled, char out[DUMP_MAX]);

/* policy_compile of a text as the first policy. */
int compile_first(const char *text, const struct compile_context *ctx, struct policy *policy,
		  struct compiled *out, struct policy_errors *errors);
