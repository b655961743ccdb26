// SPDX-License-Identifier: GPL-2.0-only
/* Text to the model of a policy: statements, selectors and whole texts. The grammar is in
 * rlctl-policy(5). Makes no system call, except to look up the names of services, and prints
 * nothing; every error gives word, column and remedy.
 */
#include <errno.h>
#include <string.h>

#include "policy/alarm.h"
#include "policy/names.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

#define LINE_MAX_BYTES             4096

#define PROTOCOL_LISTED(name, ...) name ", "
#define ACTION_EXPECTED                                                                    \
	"a match or an action: write a match (" RULE_PROTOCOLS(PROTOCOL_LISTED) RL_FIELDS( \
		FIELD_LISTED) "or not and one of them) or an action (allow, deny, limit)"

static int parse_action(struct parser *p)
{
	struct rule *rule = p->rule;
	int action = word_find(p, action_words, ARRAY_SIZE(action_words));

	if (action < 0 && p->word[0] == '@')
		return refuse_set(p);
	if (action < 0 && word_is(p, "while"))
		return refuse(p, p->span,
			      "stands after the action: write for example deny while attack");
	if (action < 0 && refuse_foreign(p, WORD_MATCH))
		return -EINVAL;
	if (action < 0)
		return expected(p, ACTION_EXPECTED);
	if (action != RL_ACTION_LIMIT && rule->kind == PREFIX_DEVICE && !rule->match.flags)
		return refuse(p, p->span,
			      "needs a match if the prefix is device: add one, or write "
			      "\"rule any %s\"",
			      action_words[action]);
	rule->action = action;
	word_next(p);
	return action == RL_ACTION_LIMIT ? parse_limit(p) : parse_clauses(p);
}

/* The end of a selector without an action: nothing, or `while`. */
static int parse_selected(struct parser *p)
{
	int rc;

	p->rule->action = RL_ACTION_COUNT;
	if (!p->span.len)
		return 0;
	word_next(p);
	rc = parse_while(p);
	if (!rc && p->span.len)
		return refuse(p, p->span,
			      "follows the alarm, which ends a rule: remove it, or write it before "
			      "while");
	return rc;
}

static int parse_rule(struct parser *p)
{
	int rc = parse_prefix(p) ?: parse_matches(p);

	if (rc)
		return rc;
	if (p->is_selector && (!p->span.len || word_is(p, "while")))
		return parse_selected(p);
	return parse_action(p);
}

static int line_refuse(struct policy_error *err, size_t offset, const char *text)
{
	err->column = offset + 1;
	snprintf(err->text, sizeof(err->text), "%s", text);
	return -EINVAL;
}

/* Puts the cursor on the first word. */
static int line_open(struct parser *p, const char *line, size_t len)
{
	const char *nul = memchr(line, '\0', len);

	if (nul)
		return line_refuse(p->err, nul - line,
				   "NUL byte: a policy is plain text, remove the byte");
	if (len >= strlen(BYTE_ORDER_MARK) &&
	    !memcmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		return line_refuse(p->err, 0,
				   "byte-order mark: save the policy as UTF-8 without one");
	if (len > LINE_MAX_BYTES)
		return line_refuse(p->err, LINE_MAX_BYTES,
				   "the line is longer than 4096 bytes: write one rule per line");
	words_open(p, line, comment_begin(line, line + len));
	return 0;
}

enum statement_kind { STATEMENT_NONE, STATEMENT_RULE, STATEMENT_SET, STATEMENT_ALARM };

/* The kind of statement on a line. */
struct statement {
	enum statement_kind kind;
	union {
		struct rule rule;
		struct policy_set set;
		struct policy_alarm alarm;
	};
};

static int rule_line_parse(struct parser *p, const char *end)
{
	int rc;

	if (word_is(p, "include"))
		return refuse(p, p->span, "is only possible in a policy file: write rules here");
	if (!word_is(p, "rule"))
		return expected(p,
				"a statement: begin the line with rule, set or alarm, for example "
				"\"rule any limit 1000/second\"");
	word_next(p);
	rc = parse_rule(p);
	if (!rc && p->end < end)
		comment_set(p->rule, p->end + 1, end);
	return rc;
}

/* A statement `set` or `alarm`, whose comment is kept as that after a rule. */
static int other_line_parse(struct parser *p, const char *end, struct statement *out)
{
	bool set = out->kind == STATEMENT_SET;
	struct rule holder = {0};
	uint32_t column;
	int rc;

	word_next(p);
	column = p->span.at - p->line + 1;
	rc = set ? parse_set(p, &out->set) : parse_alarm(p, &out->alarm);
	if (rc)
		return rc;
	if (p->end < end)
		comment_set(&holder, p->end + 1, end);
	memcpy(set ? out->set.comment : out->alarm.comment, holder.comment, sizeof(holder.comment));
	*(set ? &out->set.column : &out->alarm.column) = column;
	return 0;
}

/* Fills *out on success only. `rules`: no other statement may stand here. */
static int line_parse(const char *line, size_t len, const struct policy_context *ctx, bool rules,
		      struct statement *out, struct policy_error *err)
{
	struct statement found = {.kind = STATEMENT_NONE};
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule};
	int rc = line_open(&p, line, len);

	if (rc)
		return rc;
	if (word_is(&p, "set") || word_is(&p, "alarm")) {
		if (rules)
			return refuse(
				&p, p.span,
				"stands in a policy, not among rules: write it there, and run "
				"`rlctl apply`");
		found.kind = word_is(&p, "set") ? STATEMENT_SET : STATEMENT_ALARM;
		rc = other_line_parse(&p, line + len, &found);
	} else if (p.span.len) {
		found.kind = STATEMENT_RULE;
		rc = rule_line_parse(&p, line + len);
		found.rule = rule;
	}
	if (!rc)
		*out = found;
	return rc;
}

/* Length without the line ending, LF or CRLF. */
static size_t line_length(const char *line, size_t len)
{
	if (len && line[len - 1] == '\n')
		len--;
	if (len && line[len - 1] == '\r')
		len--;
	return len;
}

int statement_parse(const char *line, const struct policy_context *ctx, struct rule *out,
		    bool *found, struct policy_error *err)
{
	struct statement statement = {.kind = STATEMENT_NONE};
	int rc = line_parse(line, line_length(line, strlen(line)), ctx, true, &statement, err);

	*found = statement.kind == STATEMENT_RULE;
	if (*found)
		*out = statement.rule;
	return rc;
}

int selector_parse(const char *words, const struct policy_context *ctx, struct rule *out,
		   struct policy_error *err)
{
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule, .is_selector = true};
	int rc = line_open(&p, words, line_length(words, strlen(words))) ?: parse_rule(&p);

	if (!rc)
		*out = rule;
	return rc;
}

/* Refuses a set or an alarm that is a second one of its name, as which of the two is meant is not
 * known, or one too many. Returns where it belongs; NULL: its name is known already. */
static struct policy *named_home(struct reading *reading, const struct statement *found)
{
	struct policy *policy = &reading->policy;
	bool is_set = found->kind == STATEMENT_SET;
	const char *name = is_set ? found->set.name : found->alarm.name;
	const struct policy_set *set = is_set ? policy_set_find(policy, name) : NULL;
	const struct policy_alarm *alarm = is_set ? NULL : policy_alarm_find(policy, name);
	struct policy_error err = {.line = is_set ? found->set.line : found->alarm.line,
				   .column = is_set ? found->set.column : found->alarm.column};

	if (set || alarm) {
		err.other = set ? set->line : alarm->line;
		snprintf(err.text, sizeof(err.text),
			 "the %s %s is there already: remove one of the two",
			 is_set ? "set" : "alarm", name);
	} else if (is_set && policy->set_count == RL_SETS_MAX) {
		snprintf(err.text, sizeof(err.text),
			 "too many sets: a policy has at most %d, join lists into fewer of them",
			 RL_SETS_MAX);
	} else if (!is_set && policy->alarm_count == RL_ALARMS_MAX) {
		snprintf(err.text, sizeof(err.text),
			 "too many alarms: a policy has at most %d, remove one", RL_ALARMS_MAX);
	} else {
		return policy;
	}
	policy_errors_add(reading->errors, &err);
	return set || alarm ? NULL : &reading->damaged;
}

/* The policy that has the sets and alarms. */
static const struct policy *reading_known(const struct reading *reading)
{
	return reading->ctx->known ? reading->ctx->known : &reading->policy;
}

/* An undefined set, at the word that names it. */
static void missing_set_add(const struct rule *rule, uint32_t column, const char *name, void *arg)
{
	struct policy_error err = {.line = rule->line, .column = column};
	const struct reading *reading = arg;

	if (policy_set_find(&reading->damaged, name))
		return;
	if (reading->ctx->known)
		snprintf(err.text, sizeof(err.text),
			 "unknown set \"%s\": apply a policy with a line \"set %s\" first", name,
			 name);
	else
		snprintf(err.text, sizeof(err.text), "unknown set \"%s\": add a line \"set %s\"",
			 name, name);
	policy_errors_add(reading->errors, &err);
}

/* An undefined alarm, after while. */
static void missing_alarm_add(const struct rule *rule, const char *name, void *arg)
{
	struct policy_error err = {.line = rule->line, .column = rule->while_column};
	const struct reading *reading = arg;

	if (policy_alarm_find(&reading->damaged, name))
		return;
	alarm_missing_print(err.text, sizeof(err.text), reading_known(reading), name,
			    reading->ctx->known);
	policy_errors_add(reading->errors, &err);
}

/* Appends the statement of the line, if it has one, or adds its error. 0 or -ENOMEM. */
static int line_add(struct reading *reading, const char *line, size_t len, uint32_t number)
{
	struct policy_error err = {.line = number};
	struct policy *policy = &reading->policy;
	struct statement found;

	if (line_parse(line, len, reading->ctx, reading->ctx->known, &found, &err)) {
		policy_errors_add(reading->errors, &err);
		return damaged_line_read(reading, line, len, &err);
	}
	switch (found.kind) {
	case STATEMENT_NONE:
		return 0;
	case STATEMENT_RULE:
		found.rule.line = number;
		return policy_append(policy, &found.rule);
	case STATEMENT_SET:
		found.set.line = number;
		break;
	case STATEMENT_ALARM:
		found.alarm.line = found.alarm.counts.line = number;
		break;
	}
	policy = named_home(reading, &found);
	if (!policy)
		return 0;
	return found.kind == STATEMENT_SET ? policy_set_put(policy, &found.set)
					   : policy_alarm_put(policy, &found.alarm);
}

/* Reads every statement of the text. 0 or -ENOMEM; errors of the text are added. */
static int text_read(struct reading *reading, const char *text, size_t size)
{
	const char *end = size ? text + size : text;
	const struct policy *known;
	uint32_t number = 0;
	int rc = 0;

	for (const char *line = text, *next; !rc && line < end; line = next) {
		const char *newline = memchr(line, '\n', end - line);

		next = newline ? newline + 1 : end;
		rc = line_add(reading, line, line_length(line, next - line), ++number);
	}
	if (rc || reading->lacks)
		return rc;
	known = reading_known(reading);
	policy_sets_missing(&reading->policy, known, missing_set_add, reading);
	policy_alarms_missing(&reading->policy, known, missing_alarm_add, reading);
	policy_sets_missing(&reading->damaged, known, missing_set_add, reading);
	policy_alarms_missing(&reading->damaged, known, missing_alarm_add, reading);
	return 0;
}

int policy_parse(const char *text, size_t size, const struct policy_context *ctx,
		 struct policy *replaced, struct policy *out, struct policy_errors *errors)
{
	struct reading reading = {.ctx = ctx, .errors = errors};
	int rc;

	errors->count = 0;
	rc = text_read(&reading, text, size);
	if (!rc && errors->count)
		rc = -EINVAL;
	if (!rc)
		rc = policy_sort(&reading.policy, replaced);
	if (!rc)
		*out = reading.policy;
	else
		policy_clear(&reading.policy);
	policy_clear(&reading.damaged);
	return rc;
}

/* Removes rules that name what the policy does not define. */
static void rules_keep_defined(struct policy *policy)
{
	size_t kept = 0;

	policy_for_each (policy, rule) {
		const struct policy one = {.rules = rule, .count = 1};

		if (!policy_sets_missing(&one, policy, NULL, NULL) &&
		    !policy_alarms_missing(&one, policy, NULL, NULL))
			policy->rules[kept++] = *rule;
	}
	policy->count = kept;
}

int policy_parse_rest(const char *text, size_t size, const struct policy_context *ctx,
		      struct policy *out)
{
	struct policy_errors ignored = {0};
	struct reading reading = {.ctx = ctx, .errors = &ignored};
	struct policy *rest = &reading.policy, *damaged = &reading.damaged;
	int rc = text_read(&reading, text, size);

	if (!rc) {
		const struct policy alarms = {.alarms = rest->alarms,
					      .alarm_count = rest->alarm_count};

		if (policy_sets_missing(&alarms, rest, NULL, NULL))
			rest->count = rest->alarm_count = 0;
		rules_keep_defined(rest);
		/* For what is in their files. */
		for (size_t i = 0; !rc && i < damaged->set_count; i++)
			if (rest->set_count < RL_SETS_MAX &&
			    !policy_set_find(rest, damaged->sets[i].name))
				rc = policy_set_put(rest, &damaged->sets[i]);
	}
	if (!rc)
		rc = policy_sort(rest, NULL);
	if (!rc)
		*out = *rest;
	else
		policy_clear(rest);
	policy_clear(damaged);
	return rc;
}
