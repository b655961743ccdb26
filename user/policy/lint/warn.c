// SPDX-License-Identifier: GPL-2.0-only
/* Warnings of rules that are dangerous by themselves, of words that are not kept as written, and of
 * rules for everybody that are probably stricter than was meant. Bans that hit every address are
 * errors; bans that hit the wrong address cause a warning.
 */
#include <netinet/in.h>
#include <string.h>

#include "base/units.h"
#include "policy/lint/lint.h"
#include "policy/lint/lint_parts.h"
#include "policy/packets/pset.h"
#include "policy/parser.h"

/* ---- proof of source */

static const char *match_warning(const struct rule *rule)
{
	const struct match *match = &rule->match;
	bool icmp = match_is_proto(match, IPPROTO_ICMP) || match_is_proto(match, IPPROTO_ICMPV6);

	if (rule->action == RL_ACTION_ALLOW && match_wants(match, RL_MATCH_ESTABLISHED))
		return "a flood with the addresses and ports of one connection passes without any "
		       "limit: write for example \"limit 1m/second per flow\" in place of allow";
	if (rule->action != RL_ACTION_DENY || !(match->negated & RL_MATCH_ESTABLISHED))
		return NULL;
	/* ICMP: only echo is ever established. */
	if (icmp && !(match->flags & RL_MATCH_ICMP_TYPE))
		return "ICMP errors are not established, so path MTU discovery fails: write limit "
		       "in place of deny";
	/* Packets of a known source port are answers, and come from no client. */
	if (match_may_be_established(match) &&
	    !(match->flags & (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)) &&
	    !match_wants(match, RL_MATCH_SPORT) && !match_wants(match, RL_MATCH_FRAGMENT))
		return "packets that begin a connection are not established (SYN, the ACK after "
		       "it, the first datagram), so servers of this machine get no new clients: "
		       "write limit in place of deny, or name the sport of the answers";
	return NULL;
}

static const char *over_warning(const struct rule *rule)
{
	const struct match *match = &rule->match;

	if (rule->action != RL_ACTION_LIMIT)
		return NULL;
	if (rule->limit.over == RL_OVER_CHALLENGE && !rule_is_of_syns(rule))
		return "only SYNs are answered; all other packets over this limit are dropped, "
		       "those of open connections too: add syn";
	if (rule->limit.over == RL_OVER_TRUNCATE &&
	    (!match_is_proto(match, IPPROTO_UDP) || !match_wants(match, RL_MATCH_DPORT)))
		return "only DNS queries over UDP are answered; all other packets over this limit "
		       "are dropped: write udp dport 53";
	return NULL;
}

/* Packets that leave: nobody notes who sent first. */
static const char *leaving_warning(const struct rule *rule, const struct policy_context *ctx)
{
	const struct match *match = &rule->match;
	bool asks = match->flags & RL_MATCH_ESTABLISHED ||
		    (rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_UNLESS);

	if (!ctx->leaving || !asks || !match_may_be_established(match) ||
	    match_is_proto(match, IPPROTO_TCP))
		return NULL;
	return "at hook egress UDP is established only if its socket is connected, and ICMP never "
	       "(but see --state conntrack): write tcp, or a rule of its own for the others";
}

/* ---- bans */

/* Do no bits count of addresses that the rule is for, or of one family of them? */
static bool counts_no_bits(const struct rule *rule, uint8_t len4, uint8_t len6)
{
	bool any = rule->kind != PREFIX_ADDR;
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return ((any || ipv4) && !len4) || ((any || !ipv4) && !len6);
}

static bool is_ban(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_BAN;
}

int ban_check(struct parser *p)
{
	const struct rule *rule = p->rule;
	const struct rl_limit *limit = &rule->limit;

	/* Do all addresses, or all of a family, share one key, apart from ports and protocols? */
	if (p->is_selector || !is_ban(rule) || limit->ban_source || is_one_address(rule) ||
	    parts_are_apart(limit) ||
	    !counts_no_bits(rule, limit->key_len4 | limit->dest_len4,
			    limit->key_len6 | limit->dest_len6))
		return 0;
	if (!clause_given(p, CLAUSE_PER))
		return expected(p, "a key, because all addresses share this limit, so one excess "
				   "packet would ban all of them: write per source, or over drop");
	return refuse(p, span_after(p, p->clause_at[CLAUSE_PER]),
		      "is one key for all addresses, so one excess packet would ban all of them: "
		      "write per source, or over drop");
}

static void ban_warn(const struct rule *rule, const struct policy_context *ctx, policy_warn_fn warn,
		     void *arg)
{
	const struct rl_limit *limit = &rule->limit;

	/* Packets of one source can use up the limit and get another source banned. */
	if (limit->ban_source && (!is_one_address(rule) || ctx->by_dest) &&
	    (!(key_parts(limit) & RL_PART_SOURCE) ||
	     counts_no_bits(rule, limit->key_len4, limit->key_len6)))
		warn(rule,
		     "all sources share this limit, so a flood gets innocent sources "
		     "banned: write per source before `over ban`, or over drop",
		     arg);
	/* TCP packets other than SYN can be forged too, but their limits are for whole connections;
	 * the manual warns of these. */
	if (!match_is_proto(&rule->match, IPPROTO_TCP) || match_wants(&rule->match, RL_MATCH_SYN))
		warn(rule,
		     "a single packet with a forged source address can trigger this "
		     "ban, so an attacker can ban any address, even your resolver's: "
		     "write over drop; see `over ban` in rlctl-policy(5)",
		     arg);
}

/* ---- rules for everybody */

static const char *deny_all_warning(const struct rule *rule, const struct policy_context *ctx)
{
	if (!is_wide(rule) || rule->action != RL_ACTION_DENY || rule->match.flags || rule->extra)
		return NULL;
	if (ctx->leaving || ctx->by_dest)
		return "denies every packet that no other rule allows: add \"rule ADDRESS allow\" for "
		       "those that are to pass";
	return "denies every packet that no other rule allows, also answers to what this "
	       "machine asks: name what to deny, or write not established before deny where "
	       "no server runs";
}

/* Limits packets, or bits, for good: those of all sources together with `shared`, where one of them
 * can take all, else of each. */
static bool holds_back(const struct rule *rule, bool shared)
{
	return limits_packets(rule) && !rule->extra && !rule->for_ns && !rule->limit.share[0] &&
	       (shared ? !key_parts(&rule->limit) : !!(key_parts(&rule->limit) & RL_PART_SOURCE));
}

/* Is each packet of the limit of each source one of the device's limit, which is lower? */
static bool hides_each(const struct rule *device, const struct rule *each)
{
	const struct rl_limit *a = &device->limit, *b = &each->limit;

	return device->kind == PREFIX_DEVICE && each->kind == PREFIX_ANY &&
	       holds_back(device, true) && holds_back(each, false) &&
	       (a->unit == RL_PACKETS) == (b->unit == RL_PACKETS) &&
	       (double)a->amount / (double)a->period_ns <
		       (double)b->amount / (double)b->period_ns * (1 - 1e-9) &&
	       match_within(each, device);
}

void lower_limit_warn(const struct policy *policy, const struct rule *rule,
		      const struct policy_context *ctx, policy_warn_fn warn, void *arg)
{
	char format[RULE_TEXT_MAX], text[RULE_TEXT_MAX + 160];

	for (size_t i = 0; i < policy->count; i++) {
		const struct rule *other = &policy->rules[i];

		if (!hides_each(rule, other) && !hides_each(other, rule))
			continue;
		rule_format(format, other, ctx);
		snprintf(
			text, sizeof(text),
			rule->kind == PREFIX_DEVICE
				? "one source can use up this limit of all, as \"%s\" lets each send "
				  "more: raise this one or lower that"
				: "one source can use up \"%s\", a limit of all, as this one lets "
				  "each send more: lower this one or raise that",
			format);
		warn(rule, text, arg);
		return;
	}
}

/* ---- all of them */

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

static void rule_warn(const struct rule *rule, const struct policy_context *ctx,
		      policy_warn_fn warn, void *arg)
{
	const char *const texts[] = {
		rule->comment_cut
			? "the comment is longer than 120 bytes: only the first 120 are kept"
			: NULL,
		rule->size_cut ? "the burst or queue is not a whole number of bytes, which this "
				 "limit counts: it is rounded down, write a multiple of 8 bits"
			       : NULL,
		misses_ipv6(rule)
			? "tcp[...] and udp[...] match no IPv6: write flags or payload, or the "
			  "prefix 0.0.0.0/0 to select IPv4 alone"
			: NULL,
		match_warning(rule),
		over_warning(rule),
		leaving_warning(rule, ctx),
		deny_all_warning(rule, ctx),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i])
			warn(rule, texts[i], arg);
}

void policy_warn(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		 void *arg)
{
	policy_for_each (policy, rule) {
		rule_warn(rule, ctx, warn, arg);
		if (rule->kind == PREFIX_DEVICE)
			lower_limit_warn(policy, rule, ctx, warn, arg);
		if (is_ban(rule))
			ban_warn(rule, ctx, warn, arg);
	}
}
