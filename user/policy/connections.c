// SPDX-License-Identifier: GPL-2.0-only
/* A limit on open connections: `limit N connections`. They are counted by the addresses and ports
 * of sockets, so that only such matches say which of them count.
 */
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "policy/names.h"
#include "policy/packets/pset.h"
#include "policy/parser.h"

#define MATCHES (RL_MATCH_PROTO | RL_MATCH_SPORT | RL_MATCH_DPORT | RL_MATCH_SRC | RL_MATCH_DST)
#define PARTS   (RL_PART_SOURCE | RL_PART_DEST | RL_PART_DPORT)

static bool span_is(struct span span, const char *word)
{
	return span.len == strlen(word) && !strncasecmp(span.at, word, span.len);
}

bool connections_follow(const struct parser *p)
{
	struct span unit = span_after(p, p->span);

	return isdigit((unsigned char)p->word[0]) &&
	       (span_is(unit, "connections") || span_is(unit, "connection"));
}

int parse_connections(struct parser *p, int algorithm)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t n = 0;
	int rc;

	if (algorithm >= 0)
		return refuse(p, p->before,
			      "is of rates, and open connections have none: write for example "
			      "limit %s connections",
			      p->word);
	p->rate_at = p->span;
	rc = parse_number(p, 1, RL_CONNECTIONS_MAX, &n);
	if (rc)
		return rc;
	limit->amount = n;
	limit->unit = RL_CONNECTIONS;
	p->rate_at.len = p->span.at + p->span.len - p->rate_at.at;
	word_next(p);
	return 0;
}

/* ---- when all options are read */

/* Others than these, and what stands after `not`, are not seen of a socket. */
static int matches_check(struct parser *p)
{
	const struct match *match = &p->rule->match;

	if (!match_is_proto(match, IPPROTO_TCP))
		return refuse(p, p->rate_at, "needs TCP: write tcp before limit");
	fields_for_each (flag, match->flags) {
		if (flag & (MATCHES | RL_MATCH_SYN) && !(match->negated & flag))
			continue;
		return refuse(
			p, p->match_at[field_of(flag)],
			"is not seen of an open connection: write only tcp, sport, dport, src, "
			"dst and syn before a limit on connections, without not");
	}
	if (p->rule->kind == PREFIX_SET)
		return refuse(p, p->rate_at,
			      "cannot be counted for the members of a set: write any, "
			      "or a prefix");
	for (int i = 0; i < 2; i++)
		if (match_names_set(match, i ? RL_MATCH_SRC : RL_MATCH_DST))
			return refuse(p, p->match_at[i ? RL_FIELD_SRC : RL_FIELD_DST],
				      "cannot name a set where connections are counted: write a "
				      "prefix");
	return 0;
}

static int over_connections_check(struct parser *p)
{
	struct span over;

	if (!clause_given(p, CLAUSE_OVER))
		return 0;
	over = span_after(p, p->clause_at[CLAUSE_OVER]);
	switch (p->rule->limit.over) {
	case RL_OVER_DROP:
	case RL_OVER_SHADOW:
		return 0;
	case RL_OVER_UNLESS:
		return refuse(p, span_after(p, over),
			      "is so anyway, as a limit on connections spares those that are open: "
			      "write over drop");
	case RL_OVER_BAN:
		return refuse(p, over,
			      "would ban the address that a forged SYN names: write over drop or "
			      "over count");
	}
	return refuse(p, over,
		      "does not apply to a limit on connections: write over drop or over count");
}

int connections_check(struct parser *p)
{
	int rc;

	if (p->ctx->leaving)
		return refuse(
			p, p->rate_at,
			"cannot be held at hook egress, as connections are compared when a SYN "
			"arrives: attach at hook xdp or ingress");
	rc = matches_check(p);
	if (!rc && clause_given(p, CLAUSE_PER) && key_parts(&p->rule->limit) & ~PARTS)
		rc = refuse(p, span_after(p, p->clause_at[CLAUSE_PER]),
			    "is not what connections can be counted by: write source, dest, dport, "
			    "parts of these joined by +, or rule");
	if (!rc)
		rc = over_connections_check(p);
	/* The state of a rate, which nothing uses, is well-formed. */
	p->rule->limit.period_ns = NS_PER_SECOND;
	p->rule->limit.size = p->rule->limit.amount;
	return rc;
}
