// SPDX-License-Identifier: GPL-2.0-only
/* Options of a limit (sizes, parts, key, over) or of any action (`for`), in any order, each once.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/key.h"
#include "policy/names.h"
#include "policy/parser.h"
#include "policy/policy.h"

/* A queue may be a time. */
static int clause_size(struct parser *p)
{
	bool queue = p->rule->limit.algorithm == RL_LEAKY_BUCKET;
	struct quantity q;

	return parse_quantity(p, queue ? QUANTITY_QUEUE : QUANTITY_AMOUNT, &q) ?: size_set(p, &q);
}

static int clause_slots(struct parser *p)
{
	uint64_t slots;
	int rc = parse_number(p, 2, 16, &slots);

	if (!rc)
		p->rule->limit.slots = slots;
	return rc;
}

static int clause_ramp(struct parser *p)
{
	return parse_duration(p, &p->rule->limit.ramp_ns);
}

static int clause_cold(struct parser *p)
{
	uint64_t cold;
	int rc = parse_number(p, 2, 100, &cold);

	if (!rc)
		p->rule->limit.cold = cold;
	return rc;
}

static int over_ban(struct parser *p)
{
	int rc = parse_duration(p, &p->rule->limit.ban_ns);

	if (rc || !word_is(p, "source"))
		return rc;
	if (p->ctx->leaving && !p->is_selector)
		return refuse(p, p->span,
			      "would ban this machine itself at hook egress: remove it to ban the "
			      "limit's key instead");
	p->rule->limit.ban_source = 1;
	word_next(p);
	return 0;
}

static int over_mark(struct parser *p)
{
	uint64_t mark;
	int rc;

	if (!p->ctx->tc && !p->ctx->may_be_tc)
		return refuse(p, p->before,
			      "needs hook ingress or egress, as packets have no mark at xdp: "
			      "write over drop or over count");
	rc = parse_number(p, 0, UINT32_MAX, &mark);
	if (!rc)
		p->rule->limit.mark = mark;
	return rc;
}

/* "drop" alone, or "drop unless established". */
static int over_drop(struct parser *p)
{
	static const char *const meant[] = {"not", "if", "except", "established"};

	if (word_find(p, meant, ARRAY_SIZE(meant)) >= 0)
		return refuse(p, p->span,
			      "cannot stand after over drop: write over drop unless established");
	if (!word_is(p, "unless"))
		return 0;
	word_next(p);
	if (p->span.len && !word_is(p, "established"))
		return refuse(p, p->span, "cannot be spared: write drop unless established");
	if (!p->span.len)
		return expected(p, "the packets to spare: write drop unless established");
	word_next(p);
	p->rule->limit.over = RL_OVER_UNLESS;
	return 0;
}

static int over_answer(struct parser *p)
{
	const struct policy_context *ctx = p->ctx;

	if (!ctx->tc || p->is_selector)
		return 0;
	return refuse(
		p, p->before,
		"needs hook xdp in mode native or generic, where packets can be answered, and "
		"this is %s: write over drop, or attach with%s",
		ctx->at_xdp    ? "mode tc"
		: ctx->leaving ? "hook egress"
			       : "hook ingress",
		ctx->at_xdp    ? " --mode generic if the device has an Ethernet header"
		: ctx->leaving ? "out --hook egress"
			       : "out --hook ingress");
}

static int clause_over(struct parser *p)
{
	int over = word_find(p, over_words, ARRAY_SIZE(over_words));

	if (over < 0 && refuse_foreign(p, WORD_OVER))
		return -EINVAL;
	if (over < 0)
		return expected(p, "an action for packets over the limit: write drop, drop unless "
				   "established, ban DURATION, count, mark N, challenge or "
				   "truncate");
	p->rule->limit.over = over;
	word_next(p);
	switch (over) {
	case RL_OVER_DROP:
		return over_drop(p);
	case RL_OVER_BAN:
		return over_ban(p);
	case RL_OVER_MARK:
		return over_mark(p);
	case RL_OVER_CHALLENGE:
	case RL_OVER_TRUNCATE:
		return over_answer(p);
	}
	return 0;
}

static int clause_fleet(struct parser *p)
{
	p->rule->limit.fleet = 1;
	return 0;
}

static int clause_for(struct parser *p)
{
	struct quantity q;
	int rc = parse_quantity(p, QUANTITY_LIFE, &q);

	if (!rc)
		p->rule->for_ns = q.n;
	return rc;
}

static const struct clause {
	const char *name;
	int algorithm; /* as in PARSER_CLAUSES */
	int (*parse)(struct parser *p);
} clauses[CLAUSE_COUNT] = {
#define CLAUSE_ROW(name, text, algorithm, parse) {text, algorithm, parse},
	PARSER_CLAUSES(CLAUSE_ROW)};

/* Checks that the action takes this option, and that it is not a repeat. */
static int clause_check(struct parser *p, int name)
{
	const struct rule *rule = p->rule;
	int algorithm = name < 0 ? ANY_LIMIT : clauses[name].algorithm;

	if (word_is(p, "when") || word_is(p, "if"))
		return refuse_unknown(p, "option", "while");
	if (rule->action != RL_ACTION_LIMIT && algorithm != ANY_ACTION)
		return refuse(p, p->span,
			      "is not allowed after %s: only \"for DURATION\" and \"while ALARM\" "
			      "are; write matches before %s",
			      action_words[rule->action], action_words[rule->action]);
	if (name < 0 && word_is(p, "unless"))
		return refuse(p, p->span,
			      "belongs to over drop alone: write over drop unless established");
	if (name < 0)
		return refuse(p, p->span,
			      "is not an option of limit: write burst, queue, slots, ramp, cold, "
			      "share, keep, per, over, fleet, for or while; write matches before "
			      "limit");
	if (rule->limit.unit == RL_CONNECTIONS && (algorithm < ANY_LIMIT || name == CLAUSE_FLEET))
		return refuse(p, p->span, "does not apply to a limit on connections: remove it");
	if (algorithm < ANY_LIMIT && algorithm != rule->limit.algorithm &&
	    (name != CLAUSE_BURST || rule->limit.algorithm != RL_WARM_UP))
		return refuse(p, p->span, "does not apply to %s: remove it, or write limit %s",
			      algorithm_words[rule->limit.algorithm], algorithm_words[algorithm]);
	return clause_given(p, name) ? refuse_twice(p) : 0;
}

int parse_clauses(struct parser *p)
{
	while (p->span.len) {
		int name = CLAUSE_COUNT - 1, rc;

		while (name >= 0 && !word_is(p, clauses[name].name))
			name--;
		rc = clause_check(p, name);
		if (rc)
			return rc;
		p->clause_at[name] = p->span;
		word_next(p);
		rc = clauses[name].parse(p);
		if (rc)
			return rc;
	}
	return 0;
}
