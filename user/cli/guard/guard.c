// SPDX-License-Identifier: GPL-2.0-only
/* The guard against lockout: compares the verdicts of the policy in force and of the next one on
 * the SSH sessions, and asks for confirmation if they get worse.
 */

#include "cli/guard/guard.h"

#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/terminal.h"
#include "kernel/device/device_stack.h"
#include "policy/sets/set.h"

/* The effect of the change on the session that it affects most. */
struct harm {
	const struct ssh_session *session;
	struct flow seen; /* the session as the instance's packets have it */
	struct verdict verdict;
};

static void guard_begin(struct guard *guard, bool only_warns, bool own)
{
	memset(guard, 0, sizeof(*guard));
	guard->only_warns = only_warns;
	ssh_sessions_find(&guard->sessions, own);
}

void guard_start(struct guard *guard, bool only_warns)
{
	guard_begin(guard, only_warns, false);
}

void guard_start_own(struct guard *guard, bool only_warns)
{
	guard_begin(guard, only_warns, true);
}

void guard_clear(struct guard *guard)
{
	ssh_sessions_clear(&guard->sessions);
}

bool guard_wanted(const struct guard *guard)
{
	return guard->sessions.count && !guard->agreed;
}

/* ---- words */

#define SESSION_TEXT_MAX 192

/* "ADDRESS, the source of your SSH session" */
static void session_format(char out[SESSION_TEXT_MAX], const struct harm *harm, bool by_dest)
{
	char addr[PREFIX_TEXT_MAX];

	const char *end = by_dest ? "destination" : "source";
	const char *whose = harm->session->own ? "your" : "an open";
	char what[40] = "SSH session";

	if (harm->session->control)
		snprintf(what, sizeof(what), "connection of Kubernetes (port %u)",
			 harm->session->control);
	prefix_print(addr, sizeof(addr), by_dest ? harm->seen.dst : harm->seen.src, 128);
	if (*harm->session->tunnel)
		snprintf(out, SESSION_TEXT_MAX, "%s, the %s of packets of %s, which carry %s %s",
			 addr, end, harm->session->tunnel, whose, what);
	else
		snprintf(out, SESSION_TEXT_MAX, "%s, the %s of %s %s", addr, end, whose, what);
}

static void question_format(struct guard *guard, const struct harm *harm, const char *rule,
			    bool by_dest)
{
	const struct rl_limit *limit = &harm->verdict.rule.limit;
	bool banned = harm->verdict.danger <= SESSION_BANNED;
	char who[SESSION_TEXT_MAX], time[NUMBER_TEXT_MAX], banned_for[NUMBER_TEXT_MAX + 32] = "";
	const char *does = "leaves almost nothing to";

	if (banned) {
		does = limit->ban_source ? "bans" : "bans packets of";
		duration_print(time, sizeof(time), limit->ban_ns);
		snprintf(banned_for, sizeof(banned_for), ", for %s if it exceeds the limit", time);
	} else if (harm->verdict.danger == SESSION_DENIED) {
		does = harm->verdict.guessed ? "may deny" : "denies";
	}
	session_format(who, harm, by_dest && !(banned && limit->ban_source));
	snprintf(guard->question, sizeof(guard->question), "%sthe rule `%s` %s %s%s",
		 harm->verdict.danger == SESSION_MAY_BE_BANNED ? "" : "this may lock you out: ",
		 rule, does, who, banned_for);
}

static void remedy_format(struct guard *guard, const struct harm *harm,
			  const struct guarded *change)
{
	bool by_dest = change->ctx->by_dest;
	bool banned = harm->verdict.danger <= SESSION_BANNED;
	char addr[PREFIX_TEXT_MAX];

	prefix_print(addr, sizeof(addr), by_dest ? harm->seen.dst : harm->seen.src, 128);
	snprintf(guard->remedy, sizeof(guard->remedy),
		 "nothing was changed; to keep this session: add `rule %s allow`%s; %sto do it "
		 "anyway: --yes",
		 addr, banned ? ", or write over drop for over ban" : "",
		 change->then ? "" : "to try it: `rlctl apply --try 1m FILE`; ");
}

/* ---- sessions */

/* Compares the verdicts on one session, and keeps the worst harm. 0 or an error. */
static int session_compare(const struct guarded *change, const struct ssh_session *session,
			   struct harm *worst)
{
	bool by_dest = change->ctx->by_dest, leaving = change->ctx->leaving;
	struct harm harm = {.session = session,
			    .seen = leaving ? flow_reversed(&session->flow) : session->flow};
	const struct policy *before, *after;
	struct verdict former;
	int rc;

	if (!session->flow.dst_known && (by_dest || leaving))
		return 0; /* the instance cannot see its packets */
	rc = change->rules(change->arg, by_dest ? harm.seen.dst : harm.seen.src, &before, &after);
	if (rc)
		return rc;
	if (!change->then) {
		rc = verdict_of_change(before, after, by_dest, &harm.seen, change->members,
				       &harm.verdict);
	} else { /* that of other members, if it is worse */
		rc = verdict_find(after, by_dest, &harm.seen, change->members, &former);
		rc = rc ?: verdict_find(after, by_dest, &harm.seen, change->then, &harm.verdict);
		if (!rc && !verdict_worse(&harm.verdict, &former))
			harm.verdict = (struct verdict){.danger = SESSION_SAFE};
	}
	if (rc)
		out_of_memory();
	/* The own session counts on every device, unless its packets are those of a tunnel. */
	if (verdict_worse(&harm.verdict, &worst->verdict) &&
	    ((session->own && !session->inside && !*session->tunnel) ||
	     device_carries(change->ifindex, &session->flow, true)))
		*worst = harm;
	return 0;
}

/* Says of a tunnel whose packets cannot be judged that rules which the change adds, and which
 * refuse packets, could be against them. 0 or an error. */
static int tunnel_note(const struct guarded *change, const struct ssh_session *session)
{
	const struct policy *before, *after;
	bool refuses = false;
	int rc;

	if (change->ifindex == session->tunnel_index)
		return 0;
	rc = change->rules(change->arg, session->flow.src, &before, &after);
	if (rc)
		return rc;
	policy_for_each (after, rule) {
		const struct rule *former = policy_find(before, rule);

		refuses |= rule->action != RL_ACTION_ALLOW && (!former || !same_rule(former, rule));
	}
	if (refuses)
		note("warning: %s SSH session comes through %s, and by whose packets cannot be "
		     "found out: see that no rule is against those of the tunnel",
		     session->own ? "your" : "an open", session->tunnel);
	return 0;
}

int guard_pass(struct guard *guard, const struct guarded *change)
{
	bool by_dest = change->ctx->by_dest;
	struct harm worst = {0};
	char rule[RULE_TEXT_MAX];
	int rc = 0;

	if (!guard_wanted(guard))
		return 0;
	for (size_t i = 0; !rc && i < guard->sessions.count; i++) {
		const struct ssh_session *session = &guard->sessions.session[i];

		rc = session->unknown ? tunnel_note(change, session)
				      : session_compare(change, session, &worst);
	}
	if (rc || !worst.session)
		return rc;
	rule_format(rule, &worst.verdict.rule, change->ctx);
	question_format(guard, &worst, rule, by_dest);
	remedy_format(guard, &worst, change);
	guard->cut = worst.seen;
	if (worst.verdict.danger == SESSION_MAY_BE_BANNED) {
		note("warning: %s: to keep the session, allow its address, or write over drop for over ban",
		     guard->question);
		return 0;
	}
	if (!guard->only_warns)
		return GUARD_ASKS;
	note("%s", guard->question);
	return 0;
}

/* ---- whole policies */

struct policies {
	const struct policy *before, *after;
	const struct set_members *members; /* those of now */
};

/* The members of a set are not known before a file is read that is new to it. */
static int members_then(const char *name, const uint8_t addr[16], void *arg)
{
	const struct policies *policies = arg;
	const struct policy_set *before = policy_set_find(policies->before, name);
	const struct policy_set *after = policy_set_find(policies->after, name);

	if (after && after->source != RL_SET_DYNAMIC && (!before || !same_set(before, after)))
		return SET_UNKNOWN;
	return before ? set_member_len(policies->members, name, addr) : SET_NO_MEMBER;
}

static int policies_get(void *arg, const uint8_t addr[16], const struct policy **before,
			const struct policy **after)
{
	const struct policies *policies = arg;

	(void)addr;
	*before = policies->before;
	*after = policies->after;
	return 0;
}

int guard_policies(struct guard *guard, int ifindex, const struct policy_context *ctx,
		   const struct policy *before, const struct policy *after,
		   const struct set_members *members)
{
	const struct policy nothing = {0};
	struct policies policies = {before ? before : &nothing, after, members};
	const struct set_members then = {members_then, &policies};

	return guard_pass(guard,
			  &(struct guarded){ifindex, ctx, policies_get, &policies, &then, NULL});
}

int guard_empty(struct guard *guard, size_t rules, const char *name)
{
	if (!rules || guard->only_warns || guard->agreed)
		return 0;
	snprintf(guard->question, sizeof(guard->question),
		 "%.256s: no rules: this would delete the %zu rule%s in force, and every packet "
		 "would pass",
		 name, rules, rules == 1 ? "" : "s");
	snprintf(guard->remedy, sizeof(guard->remedy),
		 "nothing was changed; to delete all rules: `rlctl rule flush`; to do it anyway: "
		 "--yes");
	return GUARD_ASKS;
}

/* ---- the question */

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
