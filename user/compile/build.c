// SPDX-License-Identifier: GPL-2.0-only
/* Errors of a compilation. */
#include "compile/build.h"

#include <errno.h>
#include <stdio.h>

#include "policy/policy.h"

static int build_error(struct build *b, const struct policy_error *err, int error)
{
	policy_errors_add(b->errors, err);
	b->error = b->error ? b->error : error;
	return error;
}

int build_refuse_max(struct build *b, const struct rule *rule, int error, const char *what,
		     uint32_t max, const char *remedy)
{
	struct policy_error err = {.line = rule ? rule->line : 0, .column = 1};
	char text[RULE_TEXT_MAX] = "";

	if (rule)
		rule_print(text, sizeof(text), rule, b->ctx->text);
	snprintf(err.text, sizeof(err.text), "%.160s%s%s (at most %u): %s", text, rule ? ": " : "",
		 what, max, remedy);
	return build_error(b, &err, error);
}

int build_refuse(struct build *b, const struct rule *rule, int error, const char *what)
{
	struct policy_error err = {.line = rule->line, .column = 1};
	char text[RULE_TEXT_MAX];

	rule_print(text, sizeof(text), rule, b->ctx->text);
	snprintf(err.text, sizeof(err.text), "%.160s: %s", text, what);
	return build_error(b, &err, error);
}

void build_refuse_room(struct build *b)
{
	build_refuse_max(b, NULL, -E2BIG, "too many limits, rules with matches, and alarms",
			 b->ctx->rules_max,
			 "remove some; or detach, then attach with a larger --prefixes, up to "
			 "131072");
}
