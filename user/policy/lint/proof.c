// SPDX-License-Identifier: GPL-2.0-only
/* The words about who is really there: `established` as a match and after `unless`, and limits
 * that answer what is over them. Which of them make no sense together is an error, which are
 * dangerous a warning (warn.c).
 */

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "policy/names.h"
#include "policy/parser.h"
#include "policy/packets/pset.h"

/* Does the match leave out the protocol? */
static bool is_of_other(const struct match *match, uint8_t proto)
{
	return match->flags & RL_MATCH_PROTO &&
	       match_wants(match, RL_MATCH_PROTO) != (match->proto == proto);
}

static bool proto_may_be_established(const struct match *match)
{
	return !match_wants(match, RL_MATCH_PROTO) || protocol_has(match->proto, RL_HAS_PAYLOAD);
}

bool match_may_be_established(const struct match *match)
{
	return proto_may_be_established(match) && !match_wants(match, RL_MATCH_SYN);
}

/* ---- errors */

#define PROTO_TEXT_MAX 16

static const char *proto_print(char out[PROTO_TEXT_MAX], uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);

	snprintf(out, PROTO_TEXT_MAX, "protocol %u", proto);
	return known ? known->name : out;
}

int established_check(struct parser *p)
{
	const struct match *match = &p->rule->match;
	struct span at = p->match_at[RL_FIELD_ESTABLISHED];
	char proto[PROTO_TEXT_MAX];

	if (!match_wants(match, RL_MATCH_ESTABLISHED))
		return 0;
	if (rule_is_of_syns(p->rule))
		return refuse(p, at,
			      "contradicts syn, as a SYN belongs to no connection yet: remove one "
			      "of the two");
	if (!proto_may_be_established(match))
		return refuse(p, at,
			      "never holds for %s: write tcp, udp, icmp or icmp6, or remove it",
			      proto_print(proto, match->proto));
	return 0;
}

static int unless_check(struct parser *p, struct span drop)
{
	const struct match *match = &p->rule->match;
	struct span at = span_after(p, drop);
	char proto[PROTO_TEXT_MAX];

	if (match_wants(match, RL_MATCH_ESTABLISHED))
		return refuse(p, at,
			      "spares every packet of this rule, which matches established: write "
			      "over count, or over drop alone");
	if (match->negated & RL_MATCH_ESTABLISHED)
		return refuse(p, at,
			      "spares no packet of this rule, which matches not established: "
			      "write over drop alone");
	if (rule_is_of_syns(p->rule))
		return refuse(p, at,
			      "spares no packet of this rule, as a SYN is never established: "
			      "write over drop alone");
	if (!proto_may_be_established(match))
		return refuse(p, at,
			      "spares no packet of %s, which is never established: write over "
			      "drop alone",
			      proto_print(proto, match->proto));
	return 0;
}

static int challenge_check(struct parser *p, struct span at)
{
	const struct match *match = &p->rule->match;

	if (is_of_other(match, IPPROTO_TCP) || !rule_takes_tcp_flags(p->rule, TH_SYN))
		return refuse(p, at,
			      "answers TCP SYNs, which this rule does not match: write tcp syn, or "
			      "over drop");
	if (match_wants(match, RL_MATCH_ESTABLISHED))
		return refuse(p, at,
			      "answers TCP SYNs, which are never established: write syn in place "
			      "of established, or over drop");
	if (match_wants(match, RL_MATCH_FRAGMENT))
		return refuse(p, at,
			      "never answers fragments: remove fragment, or write over drop");
	return 0;
}

static int truncate_check(struct parser *p, struct span at)
{
	const struct match *match = &p->rule->match;

	if (is_of_other(match, IPPROTO_UDP))
		return refuse(p, at,
			      "answers DNS queries over UDP, which this rule does not match: write "
			      "udp dport 53, or over drop");
	if (match_wants(match, RL_MATCH_FRAGMENT))
		return refuse(p, at,
			      "never answers fragments: remove fragment, or write over drop");
	return 0;
}

int over_check(struct parser *p)
{
	struct span at;

	if (!clause_given(p, CLAUSE_OVER))
		return 0;
	at = span_after(p, p->clause_at[CLAUSE_OVER]);
	switch (p->rule->limit.over) {
	case RL_OVER_UNLESS:
		return unless_check(p, at);
	case RL_OVER_CHALLENGE:
		return challenge_check(p, at);
	case RL_OVER_TRUNCATE:
		return truncate_check(p, at);
	}
	return 0;
}
