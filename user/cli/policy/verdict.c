// SPDX-License-Identifier: GPL-2.0-only
/* The effect of a policy on an SSH session: the worst of what the rules do that decide on its
 * packets, and of the bans that other packets of its source can cause. */

#include "cli/policy/verdict.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/units.h"
#include "policy/packets/pset.h"
#include "policy/while.h"

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

/* `over drop unless established` spares an open session, which is established; the packets of a
 * tunnel may not be. */
static bool drops(const struct rl_limit *limit, const struct flow *flow)
{
	if (limit->unit == RL_CONNECTIONS) /* none of a connection that is open */
		return false;
	return (flow->proto && limit->over == RL_OVER_UNLESS) || limit->over == RL_OVER_DROP ||
	       limit->over == RL_OVER_BAN || limit->over == RL_OVER_CHALLENGE ||
	       limit->over == RL_OVER_TRUNCATE;
}

/* Does it match only those segments of a session that begin it? */
static bool takes_only_syns(const struct rule *rule)
{
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++)
		if (flags & TH_ACK && rule_takes_tcp_flags(rule, flags))
			return false;
	return rule->match.flags & (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS);
}

/* Does it match only packets that begin a connection? */
static bool is_of_first(const struct rule *rule, const struct flow *flow)
{
	return takes_only_syns(rule) || match_wants(&rule->match, RL_MATCH_NEW_SOURCE) ||
	       (!flow->proto && rule->match.negated & RL_MATCH_ESTABLISHED);
}

static bool is_slow(const struct verdict *verdict)
{
	return verdict->packets_a_day < GUARD_PACKETS * (NS_PER_DAY / NS_PER_SECOND);
}

/* A rule that decides on packets of the session. */
static void verdict_add(struct verdict *worst, const struct rule *rule, const struct flow *flow)
{
	struct verdict one = {.rule = *rule};
	bool bans =
		rule->limit.over == RL_OVER_BAN && !match_wants(&rule->match, RL_MATCH_NEW_SOURCE);

	if (rule->action == RL_ACTION_DENY) {
		one.danger = SESSION_DENIED;
	} else if (rule->action == RL_ACTION_LIMIT && drops(&rule->limit, flow)) {
		one.packets_a_day = packets_a_day(&rule->limit);
		/* Limits of first packets leave open sessions alone, unless they ban the source:
		 * `syn` counts each new connection of the session's source; `new-source` does not,
		 * since the source is known. */
		if (is_of_first(rule, flow) && bans && rule->limit.ban_source && is_slow(&one))
			one.danger = SESSION_BANNED;
		else if (is_of_first(rule, flow))
			one.danger = bans ? SESSION_MAY_BE_BANNED : SESSION_SAFE;
		else if (is_slow(&one))
			one.danger = SESSION_SLOW;
		else if (rule->limit.over == RL_OVER_BAN)
			one.danger = SESSION_MAY_BE_BANNED;
	}
	worst_keep(worst, &one);
}

/* ---- bans of the source */

static bool bans_source(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_BAN &&
	       rule->limit.ban_source && !match_wants(&rule->match, RL_MATCH_NEW_SOURCE);
}

/* Bans spare what is allowed. This rule is found if the session has packets that are not. */
static const struct rule after_allow = {
	.kind = PREFIX_DEVICE,
	.action = RL_ACTION_LIMIT,
	.line = UINT32_MAX,
	.limit = {.amount = 1, .period_ns = 1, .over = RL_OVER_COUNT},
};

/* The rules that may decide for the address; *bans if one bans sources. 0 or -ENOMEM. */
static int rules_near(const struct policy *policy, const struct asked *asked, struct policy *out,
		      bool *bans)
{
	policy_for_each (policy, rule) {
		if (rule->kind >= PREFIX_SET &&
		    rule_level(rule, asked->addr, asked->members) == LEVEL_NONE)
			continue;
		*bans |= bans_source(rule);
		if (policy_append(out, rule))
			return -ENOMEM;
	}
	return policy_append(out, &after_allow);
}

/* Keeps the worst ban by a rule that decides on other packets of the session's source. */
static int bans_find(const struct policy *near, struct asked asked, struct verdict *worst)
{
	struct policy found = {0};
	int ret;

	asked.flow = NULL;
	ret = rules_decide(near, &asked, &found);
	policy_for_each (&found, rule) {
		struct verdict one = {.danger = SESSION_MAY_BE_BANNED, .rule = *rule};

		if (!bans_source(rule))
			continue;
		one.packets_a_day = packets_a_day(&rule->limit);
		worst_keep(worst, &one);
	}
	policy_clear(&found);
	return ret;
}

struct flow flow_reversed(const struct flow *flow)
{
	struct flow out = {
		.dst_known = true,
		.answers = !flow->answers,
		.proto = flow->proto,
		.sport = flow->dport,
		.dport = flow->sport,
	};

	memcpy(out.src, flow->dst, sizeof(out.src));
	memcpy(out.dst, flow->src, sizeof(out.dst));
	return out;
}

static int verdict_of(const struct policy *policy, struct asked asked, struct verdict *out)
{
	const struct flow *session = asked.flow;
	struct policy near = {0}, found = {0};
	bool bans = false, bannable = false;
	int ret;

	memset(out, 0, sizeof(*out));
	memcpy(asked.addr, asked.by_dest ? session->dst : session->src, sizeof(asked.addr));
	ret = rules_near(policy, &asked, &near, &bans);
	ret = ret ?: rules_decide(&near, &asked, &found);
	policy_for_each (&found, rule) {
		bannable |= rule->line == UINT32_MAX;
		verdict_add(out, rule, session);
	}
	if (!ret && bans && bannable)
		ret = bans_find(&near, asked, out);
	policy_clear(&found);
	policy_clear(&near);
	return ret;
}

int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 const struct set_members *members, struct verdict *out)
{
	const struct asked asked = {.by_dest = by_dest, .flow = session, .members = members};

	return verdict_of(policy, asked, out);
}

/* ---- changes */

/* Guesses at sets of which nothing is known, and at alarms, which may go on at any time: the same
 * before the change and after it. */
enum guess_kind {
	GUESS_UNKNOWN, /* none: what denies counts, and what allows does not */
	GUESS_NONE,    /* the session's address is in no such set, and no alarm is on */
	GUESS_ALL,     /* it is in all of them, and all are on */
	GUESS_ONE      /* of sets, or of alarms, that of this number alone; then the next */
};

#define GUESS_NAMES (2 * (RL_SETS_MAX + RL_ALARMS_MAX))

struct guess {
	const struct set_members *members;
	unsigned int kind;
	struct {
		bool alarm;
		char name[RL_SET_NAME_MAX + 1];
	} names[GUESS_NAMES + 1]; /* the last has no room */
	unsigned int count;
};

_Static_assert(RL_ALARM_NAME_MAX <= RL_SET_NAME_MAX, "one array for both");

/* The number of that set or alarm; a new name is noted, as long as there is room. */
static unsigned int guess_number(struct guess *guess, bool alarm, const char *name)
{
	unsigned int i = 0;

	while (i < guess->count &&
	       (guess->names[i].alarm != alarm || strcmp(guess->names[i].name, name) != 0))
		i++;
	if (i == guess->count && i < GUESS_NAMES) {
		guess->names[i].alarm = alarm;
		snprintf(guess->names[guess->count++].name, sizeof(guess->names[0].name), "%s",
			 name);
	}
	return i;
}

static bool guess_says(const struct guess *guess, unsigned int number)
{
	unsigned int one = guess->kind - GUESS_ONE;

	if (guess->kind < GUESS_ONE)
		return guess->kind == GUESS_ALL;
	return one == number || guess->names[one].alarm != guess->names[number].alarm;
}

static int guess_len(const char *name, const uint8_t addr[16], void *arg)
{
	struct guess *guess = arg;
	int len = set_member_len(guess->members, name, addr);
	unsigned int number;

	if (len != SET_UNKNOWN)
		return len;
	number = guess_number(guess, false, name);
	if (guess->kind == GUESS_UNKNOWN)
		return SET_UNKNOWN;
	return guess_says(guess, number) ? LEVEL_LONGEST : SET_NO_MEMBER;
}

static enum alarm_is guess_alarm(const char *name, void *arg)
{
	struct guess *guess = arg;
	unsigned int number = guess_number(guess, true, name);

	if (guess->kind == GUESS_UNKNOWN)
		return ALARM_IS_UNKNOWN;
	return guess_says(guess, number) ? ALARM_IS_ON : ALARM_IS_OFF;
}

static bool is_guessed(const struct rule *rule)
{
	bool off;

	return *rule_while(rule, &off) || rule->kind == PREFIX_SET ||
	       match_names_set(&rule->match, RL_MATCH_SRC) ||
	       match_names_set(&rule->match, RL_MATCH_DST);
}

int verdict_of_change(const struct policy *before, const struct policy *after, bool by_dest,
		      const struct flow *session, const struct set_members *members,
		      struct verdict *out)
{
	struct guess guess = {.members = members};
	const struct set_members guessed = {guess_len, &guess};
	const struct alarm_states alarms = {guess_alarm, &guess};
	const struct asked asked = {
		.by_dest = by_dest, .flow = session, .members = &guessed, .alarms = &alarms};
	int ret = 0;

	memset(out, 0, sizeof(*out));
	for (; !ret && (!guess.kind || (guess.count && guess.kind < GUESS_ONE + guess.count));
	     guess.kind++) {
		struct verdict now, then = {0};

		ret = verdict_of(before, asked, &now);
		ret = ret ?: verdict_of(after, asked, &then);
		then.guessed = guess.count && is_guessed(&then.rule);
		if (!ret && verdict_worse(&then, &now))
			worst_keep(out, &then);
	}
	return ret;
}
