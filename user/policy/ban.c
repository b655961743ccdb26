// SPDX-License-Identifier: GPL-2.0-only
/* Bans that hit every address are errors; bans that hit the wrong address cause a warning, and so
 * do words of a rule that are not kept as written.
 */
#include <netinet/in.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "policy/lint/everybody.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy/lint/proof.h"

#define HOME_LEN4 128 /* one IPv4 source, mapped */
#define HOME_LEN6 64  /* one IPv6 source */

/* Does the rule's prefix hold a single lookup address? */
static bool prefix_is_one_address(const struct rule *rule)
{
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return rule->kind == PREFIX_ADDR && rule->len >= (ipv4 ? HOME_LEN4 : HOME_LEN6);
}

/* Do no bits count of addresses that the rule is for, or of one family of them? */
static bool counts_no_bits(const struct rule *rule, uint8_t len4, uint8_t len6)
{
	bool any = rule->kind != PREFIX_ADDR;
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return ((any || ipv4) && !len4) || ((any || !ipv4) && !len6);
}

/* Do all addresses, or all of a family, share one key, apart from ports and protocols? */
static bool key_is_shared(const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;

	return !parts_are_apart(limit) && counts_no_bits(rule, limit->key_len4 | limit->dest_len4,
							 limit->key_len6 | limit->dest_len6);
}

static bool is_ban(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_BAN;
}

int ban_check(struct parser *p)
{
	const struct rule *rule = p->rule;

	if (p->is_selector || !is_ban(rule) || rule->limit.ban_source ||
	    prefix_is_one_address(rule) || !key_is_shared(rule))
		return 0;
	if (!clause_given(p, CLAUSE_PER))
		return expected(p, "a key, because all addresses share this limit, so one excess "
				   "packet would ban all of them: write per source, or over drop");
	return refuse(p, span_after(p, p->clause_at[CLAUSE_PER]),
		      "is one key for all addresses, so one excess packet would ban all of them: "
		      "write per source, or over drop");
}

/* Can packets of one source use up the limit and get another source banned? */
static bool bans_innocents(const struct rule *rule, const struct policy_context *ctx)
{
	if (!rule->limit.ban_source || (prefix_is_one_address(rule) && !ctx->by_dest))
		return false;
	return !(key_parts(&rule->limit) & RL_PART_SOURCE) ||
	       counts_no_bits(rule, rule->limit.key_len4, rule->limit.key_len6);
}

/* Can a single forged packet trigger the ban? TCP packets other than SYN can be forged too, but
 * their limits are for whole connections; the manual warns of these.
 */
static bool bans_forged(const struct rule *rule)
{
	const struct match *match = &rule->match;

	return !match_is_proto(match, IPPROTO_TCP) || match_wants(match, RL_MATCH_SYN);
}

/* A filter of words that libpcap compiles for IPv4 alone, where IPv6 that it misses passes. */
static bool misses_ipv6(const struct rule *rule)
{
	const char *filter = rule->extra ? rule->extra->filter : "";

	if (!(rule->match.flags & RL_MATCH_FILTER) ||
	    match_wants(&rule->match, RL_MATCH_FILTER) == (rule->action == RL_ACTION_ALLOW))
		return false;
	if (rule->kind == PREFIX_ADDR && prefix_is_ipv4(rule->addr, rule->len))
		return false;
	return (strstr(filter, "tcp[") || strstr(filter, "udp[")) && !strstr(filter, "ip6[");
}

_Static_assert(RL_COMMENT_MAX == 120, "as the warning says");

void policy_warn(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		 void *arg)
{
	policy_for_each (policy, rule) {
		if (rule->comment_cut)
			warn(rule,
			     "the comment is longer than 120 bytes: only the first 120 are kept",
			     arg);
		if (rule->size_cut)
			warn(rule,
			     "the burst or queue is not a whole number of bytes, which this "
			     "limit counts: it is rounded down, write a multiple of 8 bits",
			     arg);
		if (misses_ipv6(rule))
			warn(rule,
			     "tcp[...] and udp[...] match no IPv6: write flags or payload, or the "
			     "prefix 0.0.0.0/0 to select IPv4 alone",
			     arg);
		proof_warn(rule, ctx, warn, arg);
		deny_all_warn(rule, ctx, warn, arg);
		if (rule->kind == PREFIX_DEVICE)
			lower_limit_warn(policy, rule, ctx, warn, arg);
		if (!is_ban(rule))
			continue;
		if (bans_innocents(rule, ctx))
			warn(rule,
			     "all sources share this limit, so a flood gets innocent sources "
			     "banned: write per source before `over ban`, or over drop",
			     arg);
		if (bans_forged(rule))
			warn(rule,
			     "a single packet with a forged source address can trigger this "
			     "ban, so an attacker can ban any address, even your resolver's: "
			     "write over drop; see `over ban` in rlctl-policy(5)",
			     arg);
	}
}
