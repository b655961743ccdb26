// SPDX-License-Identifier: GPL-2.0-only
/* Errors of a compilation. */
#include "build.h"

#include <stdio.h>

#include "policy.h"

int build_refuse_max(struct build *b, const struct rule *rule, int error, const char *what,
		     uint32_t max, const char *remedy)
{
	char text[RULE_TEXT_MAX] = "";

	if (rule)
		rule_print(text, sizeof(text), rule, b->ctx->text);
	b->err->line = rule ? rule->line : 0;
	b->err->column = 1;
	snprintf(b->err->text, sizeof(b->err->text), "%.160s%s%s (at most %u): %s", text,
		 rule ? ": " : "", what, max, remedy);
	return error;
}

int build_refuse(struct build *b, const struct rule *rule, int error, const char *what)
{
	char text[RULE_TEXT_MAX] = "";

	rule_print(text, sizeof(text), rule, b->ctx->text);
	b->err->line = rule->line;
	b->err->column = 1;
	snprintf(b->err->text, sizeof(b->err->text), "%.160s: %s", text, what);
	return error;
}
