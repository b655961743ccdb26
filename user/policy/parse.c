// SPDX-License-Identifier: GPL-2.0-only
/* Text to the model of a policy: statements, selectors and whole texts. The grammar is in
 * rlctl-policy(5). Makes no system call, except to look up the names of services, and prints
 * nothing; every error gives word, column and remedy.
 */
#include <errno.h>
#include <string.h>

#include "names.h"
#include "parser.h"
#include "policy.h"

#define LINE_MAX_BYTES  4096
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* U+FEFF */

static int parse_action(struct parser *p)
{
	struct rule *rule = p->rule;
	int action = word_find(p, action_words, ARRAY_SIZE(action_words));

	if (action < 0 && refuse_foreign(p, WORD_MATCH))
		return -EINVAL;
	if (action < 0)
		return expected(p,
				"a match or an action: write a match (tcp, udp, icmp, icmp6, sctp, "
				"gre, esp, proto, sport, dport, src, dst, syn, flags, icmp-type, "
				"length, ttl, dscp, fragment, payload, filter, new-source, "
				"established, or not and one of them) or an action (allow, deny, "
				"limit)");
	if (action != RL_ACTION_LIMIT && rule->kind == PREFIX_DEVICE && !rule->match.flags)
		return refuse(p, p->span,
			      "needs a match if the prefix is device: add one, or write "
			      "\"rule any %s\"",
			      action_words[action]);
	rule->action = action;
	word_next(p);
	return action == RL_ACTION_LIMIT ? parse_limit(p) : parse_clauses(p);
}

static int parse_rule(struct parser *p)
{
	int rc = parse_prefix(p);

	if (!rc)
		rc = parse_matches(p);
	if (rc)
		return rc;
	if (p->is_selector && !p->span.len) {
		p->rule->action = RL_ACTION_COUNT;
		return 0;
	}
	return parse_action(p);
}

static int line_refuse(struct policy_error *err, size_t offset, const char *text)
{
	err->column = offset + 1;
	snprintf(err->text, sizeof(err->text), "%s", text);
	return -EINVAL;
}

/* The first # outside of quotation marks; NULL: there is none. */
static const char *comment_find(const char *line, size_t len)
{
	bool quoted = false;

	for (const char *at = line; at < line + len; at++) {
		if (*at == '#' && !quoted)
			return at;
		quoted ^= *at == '"';
	}
	return NULL;
}

/* Puts the cursor on the first word. */
static int line_open(struct parser *p, const char *line, size_t len)
{
	const char *nul = memchr(line, '\0', len);
	const char *comment = comment_find(line, len);

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
	words_open(p, line, comment ? comment : line + len);
	return 0;
}

static int line_parse(const char *line, size_t len, const struct policy_context *ctx,
		      struct rule *out, bool *found, struct policy_error *err)
{
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule};
	int rc = line_open(&p, line, len);

	if (rc)
		return rc;
	if (!p.span.len) {
		*found = false;
		return 0;
	}
	if (word_is(&p, "include"))
		return refuse(&p, p.span, "is only possible in a policy file: write rules here");
	if (!word_is(&p, "rule"))
		return expected(&p, "a statement: begin the line with rule, for example \"rule any "
				    "limit 1000/second\"");
	word_next(&p);
	rc = parse_rule(&p);
	if (rc)
		return rc;
	if (p.end < line + len)
		comment_set(&rule, p.end + 1, line + len);
	*out = rule;
	*found = true;
	return 0;
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
	return line_parse(line, line_length(line, strlen(line)), ctx, out, found, err);
}

int selector_parse(const char *words, const struct policy_context *ctx, struct rule *out,
		   struct policy_error *err)
{
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule, .is_selector = true};
	int rc = line_open(&p, words, line_length(words, strlen(words)));

	if (!rc)
		rc = parse_rule(&p);
	if (!rc)
		*out = rule;
	return rc;
}

/* Appends the statement of the line, if it has one, or adds its error. 0 or -ENOMEM. */
static int line_add(const char *line, size_t len, uint32_t number, const struct policy_context *ctx,
		    struct policy *policy, struct policy_errors *errors)
{
	struct policy_error err = {.line = number};
	struct rule rule;
	bool found;

	if (line_parse(line, len, ctx, &rule, &found, &err)) {
		policy_errors_add(errors, &err);
		return 0;
	}
	rule.line = number;
	return found ? policy_append(policy, &rule) : 0;
}

/* Appends every statement of the text. */
static int lines_parse(const char *text, size_t size, const struct policy_context *ctx,
		       struct policy *policy, struct policy_errors *errors)
{
	const char *end = size ? text + size : text;
	uint32_t number = 0;
	int rc = 0;

	for (const char *line = text, *next; !rc && line < end; line = next) {
		const char *newline = memchr(line, '\n', end - line);

		next = newline ? newline + 1 : end;
		rc = line_add(line, line_length(line, next - line), ++number, ctx, policy, errors);
	}
	return rc;
}

int policy_parse(const char *text, size_t size, const struct policy_context *ctx,
		 struct policy *replaced, struct policy *out, struct policy_errors *errors)
{
	struct policy policy = {0};
	int rc;

	errors->count = 0;
	rc = lines_parse(text, size, ctx, &policy, errors);
	if (!rc && errors->count)
		rc = -EINVAL;
	if (!rc)
		rc = policy_sort(&policy, replaced);
	if (rc)
		policy_clear(&policy);
	else
		*out = policy;
	return rc;
}
