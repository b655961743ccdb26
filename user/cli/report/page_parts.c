// SPDX-License-Identifier: GPL-2.0-only
/* Helpers that several parts of a page use. */
#include "cli/report/page_parts.h"

#include "kernel/instance/instance.h"
#include "kernel/simulation.h"

void side_rule_words(const struct record_side *side, const struct rule *rule,
		     char words[RULE_TEXT_MAX])
{
	struct policy_context ctx;

	instance_context(simulation_instance(side->simulation), &ctx);
	rule_format(words, rule, &ctx);
}

void table_begin(FILE *out, const char *id, const char *caption)
{
	fprintf(out,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"%s\">\n"
		"<table><caption id=\"%s\">%s</caption>\n",
		id, id, caption);
}

void table_end(FILE *out)
{
	fputs("</table></div>\n", out);
}
