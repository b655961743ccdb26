// SPDX-License-Identifier: GPL-2.0-only
/* Lines with an error: what they define and name all the same, so that one reading finds every
 * error, and a name whose own line has one does not count as missing. */
#include <errno.h>
#include <string.h>

#include "policy/alarm.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

struct damage {
	struct parser p;
	struct reading *reading;
	const struct policy_error *known;
};

/* Adds the parser's error, unless it is the one that is known. */
static void error_add(struct damage *damage)
{
	struct policy_error *err = damage->p.err;

	err->line = damage->known->line;
	if (err->column != damage->known->column)
		policy_errors_add(damage->reading->errors, err);
}

/* A rule for each name, as the names of whole rules are looked up. */
static int set_name_read(struct damage *damage)
{
	struct rule rule = {.kind = PREFIX_SET, .line = damage->known->line};
	struct parser *p = &damage->p;

	rule.set_column.prefix = p->span.at - p->line + 1;
	if (parse_set_name(p, rule.set)) {
		error_add(damage);
		word_next(p);
		return 0;
	}
	return rule.set_column.prefix == damage->known->column
		       ? 0
		       : policy_append(&damage->reading->damaged, &rule);
}

static int alarm_name_read(struct damage *damage)
{
	struct rule rule = {.line = damage->known->line};
	struct parser *p = &damage->p;

	word_next(p);
	p->rule = &rule;
	p->extra = (struct rl_extra){0};
	if (!parse_while(p))
		return policy_append(&damage->reading->damaged, &rule);
	error_add(damage);
	return 0;
}

/* Moves past the expression, also if it is wrong. */
static void filter_read(struct damage *damage)
{
	struct parser *p = &damage->p;
	const char *at, *end;

	word_next(p);
	at = p->span.at;
	p->extra = (struct rl_extra){0};
	if (!p->span.len || *at != '"' || !parse_filter(p, RL_FIELD_FILTER))
		return;
	error_add(damage);
	end = memchr(at + 1, '"', p->end - at - 1);
	p->span = (struct span){.at = at, .len = (end ? end + 1 : p->end) - at};
	word_next(p);
}

static int names_read(struct damage *damage, bool is_alarm)
{
	struct parser *p = &damage->p;
	int rc = 0;

	while (!rc && p->span.len) {
		if (p->word[0] == '@')
			rc = set_name_read(damage);
		else if (word_is(p, "while") && !is_alarm)
			rc = alarm_name_read(damage);
		else if (word_is(p, "filter"))
			filter_read(damage);
		else
			word_next(p);
	}
	return rc;
}

int damaged_line_read(struct reading *reading, const char *text, size_t len,
		      const struct policy_error *known)
{
	size_t mark = strlen(BYTE_ORDER_MARK);
	struct policy_error err = {0};
	struct damage damage = {
		.p = {.ctx = reading->ctx, .err = &err}, .reading = reading, .known = known};
	struct parser *p = &damage.p, other;
	struct policy_alarm alarm = {0};
	struct policy_set set;
	const char *begin = text, *end = text + strnlen(text, len);
	bool is_set, is_alarm, is_rule;
	int rc = 0;

	if (len >= mark && !memcmp(text, BYTE_ORDER_MARK, mark))
		begin += mark;
	words_open(p, begin, comment_begin(begin, end));
	p->line = text;
	reading->lacks |= word_is(p, "include");
	is_set = word_is(p, "set");
	is_alarm = word_is(p, "alarm");
	is_rule = word_is(p, "rule");
	word_next(p);
	/* Where the first word is wrong, either may be meant: each is read with a cursor of its
	 * own. */
	other = *p;
	if ((is_set || (!is_alarm && !is_rule && p->word[0] != '@')) &&
	    !parse_set_rest(&other, &set))
		rc = policy_set_put(&reading->damaged, &set);
	other = *p;
	if (!rc && !is_set && !is_rule && !parse_alarm_name(&other, alarm.name))
		rc = policy_alarm_put(&reading->damaged, &alarm);
	return rc || is_set ? rc : names_read(&damage, is_alarm);
}
