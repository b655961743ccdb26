// SPDX-License-Identifier: GPL-2.0-only
/* Errors of a compilation. */
#include "compile/build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "policy/policy.h"

int build_refuse(struct build *b, const struct rule *rule, int error, const char *format, ...)
{
	struct policy_error err = {.line = rule ? rule->line : 0, .column = 1};
	char text[RULE_TEXT_MAX];
	va_list args;
	int used = 0;

	if (rule) {
		rule_print(text, sizeof(text), rule, b->ctx->text);
		used = snprintf(err.text, sizeof(err.text), "%.160s: ", text);
	}
	va_start(args, format);
	vsnprintf(err.text + used, sizeof(err.text) - used, format, args);
	va_end(args);
	policy_errors_add(b->errors, &err);
	b->error = b->error ? b->error : error;
	return error;
}

void build_refuse_room(struct build *b)
{
	build_refuse(
		b, NULL, -E2BIG,
		"too many limits, rules with matches, and alarms (at most %u): remove some; or "
		"detach, then attach with a larger --prefixes, up to 131072",
		b->ctx->rules_max);
}
