/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the tests of the policy language: contexts, parsing that must succeed, the round trip
 * through print, and random rules.
 */
#pragma once

#include "cases.h"
#include "policy/policy.h"

extern const struct policy_context on_xdp, on_tc, on_tc_for_xdp, on_egress, on_jumbo;

/* The rule that a line states; the test fails where it states none. */
struct rule must_parse(const char *line, const struct policy_context *ctx);

/* Parses, prints, parses again and prints again; `printed` gets the text. */
void round_trip(const char *line, const struct policy_context *ctx, char printed[RULE_TEXT_MAX]);

/* A whole policy; the test fails where it has an error. */
struct policy must_parse_lines(const char *text, const struct policy_context *ctx);

/* Parses, prints, parses again and prints again: the texts are the same, and that text where there
 * is one. Returns how many alarms the policy has. */
size_t must_round_trip(const char *text, const char *canonical, const struct policy_context *ctx);

/* A policy that has an error: where it is, what it says at least, and the line that it names, or 0.
 */
struct refusal {
	const char *text;
	uint32_t line, column;
	const char *said;
	uint32_t other;
};

/* A policy that has errors, all told in ASCII, and leaves nothing behind. */
void must_fail(const char *text, const struct policy_context *ctx, struct policy_errors *errors);

/* Each has the one error, at xdp. */
void must_fail_each(const struct refusal *rows, size_t count);

/* The lines of the policy; the caller frees them. */
char *must_print(const struct policy *policy, const struct policy_context *ctx);

/* A valid statement of the grammar, which may name the sets bad and worse and the alarms attack and
 * busy, and a number below `bound`: the same ones after every random_start of the same seed (not
 * 0). */
void random_start(uint64_t seed);
uint64_t random_below(uint64_t bound);
void random_rule(char line[RULE_TEXT_MAX], const struct policy_context *ctx);
/* One whose limit has `share` or `keep`, of which a policy may have few. */
void random_divided(char line[RULE_TEXT_MAX], const struct policy_context *ctx);
/* A valid statement `alarm` of that name. */
void random_alarm(char line[RULE_TEXT_MAX], const char *name, const struct policy_context *ctx);
