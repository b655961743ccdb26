/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the verbs of `rlctl rule`. */
#pragma once

#include "cli/guard/session.h"

struct json_object;

/* Parses the command's words as a statement, or as a selector, whose action is optional. 0 or
 * EXIT_USAGE; reports. */
int rule_words_parse(const struct command *command, const struct policy_context *ctx, bool selector,
		     struct rule *out);

/* Changes the rules of the prefix that `words` names, in session->policy. 0, an error, which is
 * reported, or CHANGE_NONE. */
#define CHANGE_NONE 3
typedef int (*rule_change_fn)(struct session *session, const struct rule *words);

/* Makes the change on each instance of the target, unless the guard or the user refuses it. The
 * command's words are a statement, or a selector. 0, < 0 or EXIT_USAGE; reports. */
int rule_change(const struct command *command, rule_change_fn make, bool selects);

/* Prints the rules as lines, with -v as a table, with -j as the array "rules" of `document`. Takes
 * ownership of `document`. */
void rules_print(const struct command *command, const struct session *session,
		 const struct policy *rules, struct json_object *document);
