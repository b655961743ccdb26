// SPDX-License-Identifier: GPL-2.0-only
/* The guard against lockout: compares the verdicts of the policy in force and of the next one on
 * the SSH session, and asks for confirmation if they get worse.
 */

#include "guard.h"

#include <errno.h>
#include <string.h>

#include "decide.h"
#include "message.h"
#include "output.h"
#include "policy.h"
#include "ssh_session.h"
#include "terminal.h"
#include "units.h"

/* ---- verdicts */

static uint64_t packets_a_day(const struct rl_limit *limit)
{
	uint64_t amount = rate_amount_in(limit->amount, limit->period_ns, NS_PER_DAY);

	if (limit->unit == RL_BITS)
		amount /= 8;
	if (limit->unit != RL_PACKETS)
		amount /= GUARD_BYTES / GUARD_PACKETS;
	return limit->algorithm == RL_WARM_UP ? amount / limit->cold : amount;
}

static bool drops(const struct rl_limit *limit)
{
	return limit->over == RL_OVER_DROP || limit->over == RL_OVER_BAN;
}

/* A slow limit of first packets only protects sshd and does not affect open sessions. */
static bool limits_only_first_packets(const struct rule *rule)
{
	return rule->match.flags & (RL_MATCH_SYN | RL_MATCH_NEW_SOURCE);
}

static void verdict_add(struct verdict *verdict, const struct rule *rule)
{
	struct verdict one = {.rule = *rule};

	if (rule->action == RL_ACTION_DENY) {
		one.danger = SESSION_DENIED;
	} else if (rule->action == RL_ACTION_LIMIT && drops(&rule->limit) &&
		   !limits_only_first_packets(rule)) {
		one.packets_a_day = packets_a_day(&rule->limit);
		if (one.packets_a_day < GUARD_PACKETS * (NS_PER_DAY / NS_PER_SECOND))
			one.danger = SESSION_SLOW;
	}
	if (verdict_worse(&one, verdict))
		*verdict = one;
}

int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 struct verdict *out)
{
	struct asked asked = {.by_dest = by_dest, .flow = session};
	struct policy found = {0};
	int ret;

	memset(out, 0, sizeof(*out));
	memcpy(asked.addr, by_dest ? session->dst : session->src, sizeof(asked.addr));
	ret = rules_decide(policy, &asked, &found);
	policy_for_each (&found, rule)
		verdict_add(out, rule);
	policy_clear(&found);
	return ret;
}

bool verdict_worse(const struct verdict *next, const struct verdict *current)
{
	if (next->danger != current->danger)
		return next->danger > current->danger;
	return next->danger == SESSION_SLOW && next->packets_a_day < current->packets_a_day;
}

/* ---- the guard */

static void guard_format(struct guard *guard, const struct flow *session,
			 const struct verdict *verdict, const struct policy_context *ctx)
{
	char rule[RULE_TEXT_MAX], addr[PREFIX_TEXT_MAX];

	rule_format(rule, &verdict->rule, ctx);
	prefix_print(addr, sizeof(addr), ctx->by_dest ? session->dst : session->src, 128);
	snprintf(guard->question, sizeof(guard->question),
		 "this may lock you out: the rule `%s` %s %s, the %s of your SSH session", rule,
		 verdict->danger == SESSION_DENIED ? "denies" : "leaves almost nothing to", addr,
		 ctx->by_dest ? "destination" : "source");
	snprintf(guard->remedy, sizeof(guard->remedy),
		 "nothing was changed; to keep this session: add `rule %s allow`; to try it: "
		 "`rlctl apply --try 1m FILE`; to do it anyway: --yes",
		 addr);
}

void guard_start(struct guard *guard, bool only_warns)
{
	memset(guard, 0, sizeof(*guard));
	guard->only_warns = only_warns;
	guard->wanted = ssh_session_find(&guard->session);
}

/* The flow of the machine's answers. */
static struct flow flow_reversed(const struct flow *flow)
{
	struct flow out = {.dst_known = true, .sport = flow->dport, .dport = flow->sport};

	memcpy(out.src, flow->dst, sizeof(out.src));
	memcpy(out.dst, flow->src, sizeof(out.dst));
	return out;
}

/* Whether the guard applies; *seen is the session as the instance's packets have it. */
static bool guard_sees(const struct guard *guard, const struct policy_context *ctx,
		       struct flow *seen)
{
	const struct flow *session = &guard->session;

	if (!guard->wanted || guard->agreed)
		return false;
	*seen = ctx->leaving ? flow_reversed(session) : *session;
	return session->dst_known || !(ctx->by_dest || ctx->leaving);
}

bool guard_address(const struct guard *guard, const struct policy_context *ctx, uint8_t addr[16])
{
	struct flow seen;

	if (!guard_sees(guard, ctx, &seen))
		return false;
	memcpy(addr, ctx->by_dest ? seen.dst : seen.src, 16);
	return true;
}

int guard_pass(struct guard *guard, const struct policy *current, const struct policy *next,
	       const struct policy_context *ctx)
{
	const struct policy nothing = {0};
	struct verdict before, after;
	struct flow seen;

	if (!guard_sees(guard, ctx, &seen))
		return 0;
	if (verdict_find(current ? current : &nothing, ctx->by_dest, &seen, &before) ||
	    verdict_find(next, ctx->by_dest, &seen, &after))
		out_of_memory();
	if (!verdict_worse(&after, &before))
		return 0;
	guard_format(guard, &seen, &after, ctx);
	if (!guard->only_warns)
		return GUARD_ASKS;
	note("%s", guard->question);
	return 0;
}

int guard_empty(struct guard *guard, size_t rules, const char *name)
{
	if (!rules || guard->only_warns || guard->agreed)
		return 0;
	snprintf(
		guard->question, sizeof(guard->question),
		"%.256s: no rules: this would delete the %zu rule%s in force, and every packet would "
		"pass",
		name, rules, rules == 1 ? "" : "s");
	snprintf(guard->remedy, sizeof(guard->remedy),
		 "nothing was changed; to delete all rules: `rlctl rule flush`; to do it anyway: "
		 "--yes");
	return GUARD_ASKS;
}

int guard_ask(struct guard *guard)
{
	struct terminal terminal;

	if (!terminal_open(&terminal)) {
		fail("%s", guard->question);
		return fail("%s", guard->remedy);
	}
	note("%s", guard->question);
	guard->agreed = terminal_ask(&terminal, "continue?");
	terminal_close(&terminal);
	return guard->agreed ? 0 : fail("%s", guard->remedy);
}
