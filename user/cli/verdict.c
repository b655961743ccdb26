// SPDX-License-Identifier: GPL-2.0-only
/* The effect of a policy on an SSH session: the worst of what the rules do that decide on its
 * packets, and of the bans that other packets of its source can cause. */

#include "verdict.h"

#include <errno.h>
#include <string.h>

#include "proof.h"
#include "ranges.h"
#include "units.h"

static uint64_t packets_a_day(const struct rl_limit *limit)
{
	uint64_t amount = rate_amount_in(limit->amount, limit->period_ns, NS_PER_DAY);

	if (limit->unit == RL_BITS)
		amount /= 8;
	if (limit->unit != RL_PACKETS)
		amount /= GUARD_BYTES / GUARD_PACKETS;
	return limit->algorithm == RL_WARM_UP ? amount / limit->cold : amount;
}

bool verdict_worse(const struct verdict *next, const struct verdict *current)
{
	if (next->danger != current->danger)
		return next->danger > current->danger;
	return next->danger > SESSION_SAFE && next->packets_a_day < current->packets_a_day;
}

static void worst_keep(struct verdict *worst, const struct verdict *one)
{
	if (verdict_worse(one, worst))
		*worst = *one;
}

/* `over drop unless established` spares an open session, which is established. */
static bool drops(const struct rl_limit *limit)
{
	return limit->over == RL_OVER_DROP || limit->over == RL_OVER_BAN ||
	       limit->over == RL_OVER_CHALLENGE || limit->over == RL_OVER_TRUNCATE;
}

/* Does it match only packets that begin a connection? */
static bool is_of_first(const struct rule *rule)
{
	return rule_is_of_syns(rule) || match_wants(&rule->match, RL_MATCH_NEW_SOURCE) ||
	       match_wants_strangers(&rule->match);
}

static bool is_slow(const struct verdict *verdict)
{
	return verdict->packets_a_day < GUARD_PACKETS * (NS_PER_DAY / NS_PER_SECOND);
}

/* Limits of first packets leave open sessions alone, unless they ban the source: `syn` counts each
 * new connection of the session's source; `new-source` does not, since the source is known. */
static void limit_of_first(struct verdict *one)
{
	const struct rule *rule = &one->rule;

	if (rule->limit.over != RL_OVER_BAN || match_wants(&rule->match, RL_MATCH_NEW_SOURCE))
		return;
	one->danger =
		rule->limit.ban_source && is_slow(one) ? SESSION_BANNED : SESSION_MAY_BE_BANNED;
}

static void limit_of_all(struct verdict *one)
{
	if (is_slow(one))
		one->danger = SESSION_SLOW;
	else if (one->rule.limit.over == RL_OVER_BAN)
		one->danger = SESSION_MAY_BE_BANNED;
}

/* A rule that decides on packets of the session. */
static void verdict_add(struct verdict *worst, const struct rule *rule)
{
	struct verdict one = {.rule = *rule};

	if (rule->action == RL_ACTION_DENY) {
		one.danger = SESSION_DENIED;
	} else if (rule->action == RL_ACTION_LIMIT && drops(&rule->limit)) {
		one.packets_a_day = packets_a_day(&rule->limit);
		if (is_of_first(rule))
			limit_of_first(&one);
		else
			limit_of_all(&one);
	}
	worst_keep(worst, &one);
}

/* ---- bans of the source */

static bool bans_source(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_BAN &&
	       rule->limit.ban_source && !match_wants(&rule->match, RL_MATCH_NEW_SOURCE);
}

/* A rule that decides on other packets of the session's source. */
static void ban_add(struct verdict *worst, const struct rule *rule)
{
	struct verdict one = {.danger = SESSION_MAY_BE_BANNED, .rule = *rule};

	if (!bans_source(rule))
		return;
	one.packets_a_day = packets_a_day(&rule->limit);
	worst_keep(worst, &one);
}

/* Bans spare what is allowed. This rule is found if the session has packets that are not. */
static const struct rule after_allow = {
	.kind = PREFIX_DEVICE,
	.action = RL_ACTION_LIMIT,
	.line = UINT32_MAX,
	.limit = {.amount = 1, .period_ns = 1, .over = RL_OVER_COUNT},
};

/* The rules that may decide for the address; *bans if one bans sources. 0 or -ENOMEM. */
static int rules_near(const struct policy *policy, const uint8_t addr[16], struct policy *out,
		      bool *bans)
{
	policy_for_each (policy, rule) {
		if (rule->kind == PREFIX_ADDR && !prefix_contains(rule->addr, rule->len, addr))
			continue;
		*bans |= bans_source(rule);
		if (policy_append(out, rule))
			return -ENOMEM;
	}
	return policy_append(out, &after_allow);
}

/* Appends to *found. */
static int bans_find(const struct policy *near, struct asked asked, struct verdict *worst)
{
	struct policy found = {0};
	int ret;

	asked.flow = NULL;
	ret = rules_decide(near, &asked, &found);
	policy_for_each (&found, rule)
		ban_add(worst, rule);
	policy_clear(&found);
	return ret;
}

int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 struct verdict *out)
{
	struct asked asked = {.by_dest = by_dest, .flow = session};
	struct policy near = {0}, found = {0};
	bool bans = false, bannable = false;
	int ret;

	memset(out, 0, sizeof(*out));
	memcpy(asked.addr, by_dest ? session->dst : session->src, sizeof(asked.addr));
	ret = rules_near(policy, asked.addr, &near, &bans);
	if (!ret)
		ret = rules_decide(&near, &asked, &found);
	policy_for_each (&found, rule) {
		bannable |= rule->line == UINT32_MAX;
		verdict_add(out, rule);
	}
	if (!ret && bans && bannable)
		ret = bans_find(&near, asked, out);
	policy_clear(&found);
	policy_clear(&near);
	return ret;
}
