// SPDX-License-Identifier: GPL-2.0-only
/* Bans that make no sense, which are refused, and those that are seldom meant, which are warned of.
 */
#include <netinet/in.h>

#include "parser.h"
#include "policy.h"
#include "units.h"

#define HOME_LEN4 128 /* of one IPv4 source, mapped */
#define HOME_LEN6 64  /* of one IPv6 source */

/* Does the rule's prefix hold one address that an instance goes by, and no more? */
static bool is_of_one(const struct rule *rule)
{
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return rule->kind == PREFIX_ADDR && rule->len >= (ipv4 ? HOME_LEN4 : HOME_LEN6);
}

/* Does the limit count a whole family as one, or everything? */
static bool key_is_everybody(const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	bool any = rule->kind != PREFIX_ADDR;
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	if (limit->key != RL_KEY_SOURCE && limit->key != RL_KEY_DEST)
		return limit->key == RL_KEY_RULE;
	return ((any || ipv4) && !limit->key_len4) || ((any || !ipv4) && !limit->key_len6);
}

static bool is_ban(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_BAN;
}

int ban_check(struct parser *p)
{
	const struct rule *rule = p->rule;

	if (p->is_selector || !is_ban(rule) || rule->limit.ban_source || is_of_one(rule) ||
	    !key_is_everybody(rule))
		return 0;
	if (!clause_given(p, CLAUSE_PER))
		return expected(p, "a key, because all that the rule matches share this limit, and "
				   "one packet too many would ban everybody: write per source, or "
				   "over drop");
	return refuse(p, span_after(p, p->clause_at[CLAUSE_PER]),
		      "is one key for everybody, so one packet too many would ban everybody: write "
		      "per source, or over drop");
}

/* Is the source that exceeds this limit not the one that used it up? */
static bool bans_innocents(const struct rule *rule, const struct policy_context *ctx)
{
	if (!rule->limit.ban_source || (is_of_one(rule) && !ctx->by_dest))
		return false;
	return rule->limit.key == RL_KEY_DEST || key_is_everybody(rule);
}

/* Every packet can be forged, but one of TCP that is no SYN is part of something longer, and its
 * limit is one for whole connections; that its ban can be forged as well is for the manual to say.
 */
static bool bans_forged(const struct rule *rule)
{
	const struct rl_match *match = &rule->match;

	return !(match->flags & RL_MATCH_PROTO) || match->proto != IPPROTO_TCP ||
	       match->flags & RL_MATCH_SYN;
}

void policy_warn(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		 void *arg)
{
	policy_for_each (policy, rule) {
		if (!is_ban(rule))
			continue;
		if (bans_innocents(rule, ctx))
			warn(rule,
			     "all share this limit, so in a flood it bans whoever happens to send "
			     "then, innocents too: write per source before `over ban`, or over "
			     "drop",
			     arg);
		if (bans_forged(rule))
			warn(rule,
			     "a packet alone can forge the address that this bans, so anybody can "
			     "have any address banned, your resolver's too: write over drop; "
			     "rlctl-policy(5) says more under `over ban`",
			     arg);
	}
}
