/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the verbs of `rlctl rule`. */
#pragma once

#include "cli/cmd.h"
#include "cli/guard/session.h"
#include "policy/policy.h"

struct json_object;

/* Parses the command's words as a statement, or as a selector, whose action is optional. 0 or
 * EXIT_USAGE; reports. */
int rule_words_parse(const struct command *command, const struct policy_context *ctx, bool selector,
		     struct rule *out);

/* Prints the rules as lines, with -v as a table, with -j as the array "rules" of `document`. Takes
 * ownership of `document`. */
void rules_print(const struct command *command, const struct session *session,
		 const struct policy *rules, struct json_object *document);
