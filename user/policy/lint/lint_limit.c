// SPDX-License-Identifier: GPL-2.0-only
/* Limits by themselves; and whether one does what another is for: in its place for a longer prefix,
 * or beside it against forged sources.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/lint/lint_parts.h"
#include "policy/names.h"
#include "policy/packets/pset.h"
#include "policy/parser.h"
#include "policy/while.h"

bool is_shadow(const struct rule *rule)
{
	return is_limit(rule) &&
	       (rule->limit.over == RL_OVER_SHADOW || rule->limit.over == RL_OVER_MARK);
}

bool limits_packets(const struct rule *rule)
{
	return is_limit(rule) && !is_shadow(rule) && rule->limit.unit != RL_CONNECTIONS;
}

bool is_wide(const struct rule *rule)
{
	return rule->kind == PREFIX_ANY ||
	       (rule->kind == PREFIX_ADDR &&
		rule->len == (prefix_is_ipv4(rule->addr, rule->len) ? RL_MAPPED_BITS : 0));
}

bool is_one_address(const struct rule *rule)
{
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return rule->kind == PREFIX_ADDR && rule->len >= (ipv4 ? 128 : 64);
}

/* ---- in the place of another */

bool limit_replaces(const struct rule *limit, const struct rule *hidden,
		    const struct policy_context *ctx)
{
	uint8_t parts = limit_parts(&limit->limit);

	if (!limits_packets(limit) ||
	    (limit->limit.unit == RL_PACKETS) != (hidden->limit.unit == RL_PACKETS))
		return false;
	return parts == limit_parts(&hidden->limit) || !parts ||
	       (is_one_address(limit) && limit->limit.key == rule_default_key(limit, ctx));
}

/* Packets or bits. */
static double in_bits(const struct rl_limit *limit, uint64_t amount)
{
	return (double)amount * (limit->unit == RL_BYTES ? 8 : 1);
}

static double rate_of(const struct rl_limit *limit)
{
	return in_bits(limit, limit->amount) / limit->period_ns;
}

/* The most that may pass at once. */
static double at_once(const struct rl_limit *limit)
{
	return in_bits(limit, limit->size ? limit->size : limit->amount);
}

/* Apart from rounding. */
static bool is_more(double a, double b)
{
	return a > b * (1 + 1e-9);
}

bool limit_is_as_strict(const struct rule *limit, const struct rule *hidden)
{
	const struct rl_limit *a = &limit->limit, *b = &hidden->limit;

	if (is_one_address(limit))
		return true;
	if (b->over == RL_OVER_BAN && a->over != RL_OVER_BAN)
		return false;
	if (a->over == RL_OVER_UNLESS && b->over != RL_OVER_UNLESS &&
	    !(hidden->match.negated & RL_MATCH_ESTABLISHED))
		return false; /* it spares packets that `hidden` drops */
	return !is_more(rate_of(a), rate_of(b)) && !is_more(at_once(a), at_once(b));
}

/* ---- a limit by itself */

static void burst_look(struct lint *lint, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	uint64_t full = packet_size(limit, lint->ctx, ETHERNET_BYTES), wanted, held;
	char size[QUANTITY_TEXT_MAX], usual[QUANTITY_TEXT_MAX];

	if (!limits_packets(rule) ||
	    (limit->algorithm != RL_TOKEN_BUCKET && limit->algorithm != RL_WARM_UP))
		return;
	wanted = burst_default(limit, lint->ctx);
	held = limit->size / full;
	if (limit->size >= wanted || held >= BURST_PACKETS)
		return;
	limit_size_print(size, sizeof(size), limit, limit->size);
	limit_size_print(usual, sizeof(usual), limit, wanted);
	if (held == 1)
		lint_warn(
			lint, rule,
			"its burst %s holds one packet, so of packets that come in pairs one in two "
			"is dropped even below the rate: leave burst out for %s",
			size, usual);
	else
		lint_warn(
			lint, rule,
			"its burst %s holds %u packets, so of %u that come together one is dropped "
			"even below the rate: leave burst out for %s",
			size, (unsigned int)held, (unsigned int)held + 1, usual);
}

/* The strangers' part may be less than a packet a second; and where the match leaves out a class,
 * its part is always the others'. */
static void share_look(struct lint *lint, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	const struct match *match = &rule->match;
	unsigned int part = 100 - limit->share[0] - limit->share[1];
	uint64_t full = packet_size(limit, lint->ctx, ETHERNET_BYTES);
	bool established = match_wants(match, RL_MATCH_ESTABLISHED);
	bool known = match_wants(match, RL_MATCH_NEW_SOURCE);
	const char *out = established || match->negated & RL_MATCH_NEW_SOURCE ? "strangers" : NULL;

	if (!is_limit(rule) || !limit->share[0] || limit->key != RL_KEY_RULE)
		return;
	if ((unsigned __int128)limit->amount * part * NS_PER_SECOND <
	    (unsigned __int128)full * 100 * limit->period_ns)
		lint_warn(
			lint, rule,
			"its part for strangers, %u percent, is less than one packet a second, too "
			"few to divide: write a higher rate, or remove share",
			part);
	if (established)
		out = "known sources and strangers";
	else if (match->negated & RL_MATCH_ESTABLISHED)
		out = known ? "the established and known sources"
		      : out ? "the established and strangers"
			    : "the established";
	else if (known)
		out = "known sources";
	if (out && (limit->share[0] != SHARE_ESTABLISHED || limit->share[1] != SHARE_KNOWN))
		lint_warn(lint, rule,
			  "its match leaves out %s, whose part of the share is always empty: write "
			  "share without parts",
			  out);
}

/* ---- accounts (`per account N`) */

/* Rules of one bucket stand together, in the policy's order. */
static int account_compare(const void *a, const void *b)
{
	const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

	if (x->limit.account != y->limit.account)
		return x->limit.account < y->limit.account ? -1 : 1;
	if ((x->limit.unit == RL_PACKETS) != (y->limit.unit == RL_PACKETS))
		return x->limit.unit == RL_PACKETS ? -1 : 1;
	return x < y ? -1 : x > y;
}

void lint_accounts(struct lint *lint)
{
	const struct rule **rules =
		(const struct rule **)calloc(lint->policy->count + 1, sizeof(const struct rule *));
	const struct rl_limit *first = NULL;
	size_t count = 0;

	policy_for_each (lint->policy, rule)
		if (rules && is_limit(rule) && parts_are_account(&rule->limit))
			rules[count++] = rule;
	if (count)
		qsort(rules, count, sizeof(const struct rule *), account_compare);
	for (size_t i = 0; i < count; i++) {
		const struct rl_limit *own = &rules[i]->limit;

		if (!first || own->account != first->account ||
		    (own->unit == RL_PACKETS) != (first->unit == RL_PACKETS))
			first = own;
		if (own->algorithm != first->algorithm || own->amount != first->amount ||
		    own->period_ns != first->period_ns || own->size != first->size ||
		    own->unit != first->unit)
			lint_warn(lint, rules[i],
				  "account %u has another rate or burst in a rule before, and one "
				  "bucket for both: write the same limit in all of its rules",
				  own->account);
	}
	if (!rules)
		lint->error = -ENOMEM;
	free(rules);
}

/* ---- forged sources */

/* Does the limit count several sources by one key? Not by what a forger may choose: ports, but for
 * the one that the rule names. */
static bool key_is_shared(const struct rule *rule)
{
	const struct match *match = &rule->match;
	bool one = match_wants(match, RL_MATCH_DPORT) && match->dport_first == match->dport_last;
	uint8_t common = RL_PART_DEST | RL_PART_PROTO | RL_PART_VLAN | (one ? RL_PART_DPORT : 0);

	return !(limit_parts(&rule->limit) & ~common);
}

static bool wants_prefix(const struct match *match, enum rl_match_flag flag)
{
	return match_wants(match, flag) && !match_names_set(match, flag);
}

/* Can packets of the family have the rule's prefix and match? */
static bool has_family(const struct rule *rule, bool ipv4)
{
	const struct match *match = &rule->match;

	if (rule->kind == PREFIX_ADDR && prefix_is_ipv4(rule->addr, rule->len) != ipv4)
		return false;
	if (wants_prefix(match, RL_MATCH_SRC) && prefix_is_ipv4(match->src, match->src_len) != ipv4)
		return false;
	if (wants_prefix(match, RL_MATCH_DST) && prefix_is_ipv4(match->dst, match->dst_len) != ipv4)
		return false;
	return !match_is_proto(match, ipv4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

/* Without the matches that hold for all forged sources: they are new, and not established. Those of
 * TCP are SYNs: a forged segment without it belongs to no connection and opens none. */
static struct rule rule_of_forged(const struct rule *rule)
{
	struct match *rest;
	struct rule copy = *rule;

	rest = &copy.match;
	if (match_wants(rest, RL_MATCH_NEW_SOURCE))
		rest->flags &= ~RL_MATCH_NEW_SOURCE;
	if (match_wants(rest, RL_MATCH_SYN))
		rest->flags &= ~RL_MATCH_SYN;
	if (rest->negated & RL_MATCH_ESTABLISHED) {
		rest->flags &= ~RL_MATCH_ESTABLISHED;
		rest->negated &= ~RL_MATCH_ESTABLISHED;
	}
	return copy;
}

/* Without `while`: a rule against floods that holds while an alarm is on is there when it is
 * needed. */
static const struct rl_extra *extra_of_flood(const struct rl_extra *extra, struct rl_extra *copy)
{
	if (!extra || extra->alarm_not)
		return extra;
	*copy = *extra;
	memset(copy->alarm, 0, sizeof(copy->alarm));
	return copy;
}

/* Do all packets of forged sources with the matches of `inner` have those of `outer`? */
static bool match_covers(const struct rule *outer, const struct rule *inner)
{
	struct rule all = rule_of_forged(outer), some = rule_of_forged(inner);
	struct rl_extra copy;

	all.extra = extra_of_flood(all.extra, &copy);
	return match_within(&some, &all);
}

/* Adds a rule of the question, with matches as they are for forged sources. */
static int question_add(struct policy *question, const struct rule *rule, enum rl_action as,
			uint32_t mark)
{
	struct rule copy = rule_of_forged(rule);
	struct rl_extra extra;
	int ret = 0;

	copy.kind = PREFIX_ANY;
	copy.action = as;
	copy.counter_id = mark;
	copy.for_ns = 0;
	if (as == RL_ACTION_DENY && extra_of_flood(copy.extra, &extra) == &extra)
		copy.extra = extra_intern(&extra, &ret);
	return ret ? ret : policy_append(question, &copy);
}

/* Is there a packet of the limit that none of the other limits holds back, of a flood of sources
 * that send a packet each, for as long? A rule of any is not asked about packets that a longer
 * prefix decides on. */
static bool passes_forged(struct lint *lint, const struct rule *limit, bool ipv4)
{
	struct policy question = {0};
	bool open = false;

	if (!has_family(limit, ipv4))
		return false;
	policy_for_each (&lint->wide, rule) {
		if (!limits_packets(rule) || !key_is_shared(rule) ||
		    (rule->kind == PREFIX_ANY && limit->kind == PREFIX_ADDR) ||
		    !outlasts(rule, limit->for_ns) || !has_family(rule, ipv4))
			continue;
		if (match_covers(rule, limit))
			goto out;
		if (question_add(&question, rule, RL_ACTION_DENY, 0))
			lint->error = -ENOMEM;
	}
	if (question_add(&question, limit, RL_ACTION_LIMIT, LINT_MARK))
		lint->error = -ENOMEM;
	open = mark_is_reached(&question, false, lint_addresses[ipv4], &lint->error);
out:
	policy_clear(&question);
	return open;
}

void lint_forged(struct lint *lint)
{
	const struct rule *first = NULL;

	if (lint->ctx->leaving)
		return;
	policy_for_each (&lint->wide, rule) {
		if (!limits_packets(rule) || !is_wide(rule) || key_is_shared(rule) ||
		    match_wants(&rule->match, RL_MATCH_ESTABLISHED) ||
		    (first && rule->line > first->line))
			continue;
		if (passes_forged(lint, rule, true) || passes_forged(lint, rule, false))
			first = rule;
	}
	if (!first)
		return;
	if (first->limit.over == RL_OVER_CHALLENGE || first->limit.over == RL_OVER_TRUNCATE)
		lint_warn(lint, policy_find(lint->policy, first),
			  "limits each source by itself, so a flood of forged sources is never "
			  "answered: write per rule");
	else
		lint_warn(lint, policy_find(lint->policy, first),
			  "limits each source by itself, so a flood of forged sources passes: add "
			  "for example \"rule device new-source not established limit "
			  "2000/second\"");
}

/* ---- known sources */

/* A limit of all unknown sources together, at any time. */
static bool holds_unknown(const struct rule *rule)
{
	bool off;

	return rule->kind == PREFIX_DEVICE && limits_packets(rule) && !limit_parts(&rule->limit) &&
	       match_wants(&rule->match, RL_MATCH_NEW_SOURCE) && !rule_while(rule, &off)[0];
}

static void unknown_look(struct lint *lint, const struct rule *limit)
{
	const struct rl_limit *own = &limit->limit;

	policy_for_each (lint->policy, rule) {
		const struct rl_limit *other = &rule->limit;
		bool faster;

		if (!holds_unknown(limit) || !holds_unknown(rule) ||
		    (own->unit == RL_PACKETS) != (other->unit == RL_PACKETS) ||
		    !outlasts(rule, limit->for_ns) || !match_covers(rule, limit) ||
		    match_covers(limit, rule))
			continue;
		faster = is_more(rate_of(other), rate_of(own));
		if (!faster && is_more(at_once(other), at_once(own)))
			continue;
		lint_warn_of(
			lint, limit,
			faster ? "by other packets sources become known at the rate of "
			       : "all its packets are held to the lower limit on ",
			&(struct lines){{rule->line}, 1},
			faster ? ", which is higher, and this limit does not hold known sources: leave "
				 "out of that rule, with not, what this one matches, and give it a lower "
				 "rate"
			       : " too, so this one refuses nothing: leave out of that rule, with not, "
				 "what this one matches, or remove this one");
		return;
	}
}

/* ---- fragments */

/* Is it a limit of a payload, and no rule holds fragments back? */
static bool is_hidden_in_fragments(const struct rule *limit, const struct policy *policy)
{
	if (!is_limit(limit) || is_shadow(limit) || !(limit->match.flags & RL_MATCH_PAYLOAD) ||
	    limit->match.flags & RL_MATCH_FRAGMENT)
		return false;
	policy_for_each (policy, rule) {
		const struct match *match = &rule->match;
		bool proto = match_wants(match, RL_MATCH_PROTO);

		if (rule->action == RL_ACTION_ALLOW || is_shadow(rule) ||
		    !match_wants(match, RL_MATCH_FRAGMENT) ||
		    (proto && !match_is_proto(&limit->match, match->proto)))
			continue;
		if (rule->kind <= PREFIX_ANY || same_prefix(rule, limit))
			return false;
	}
	return true;
}

/* ---- */

void lint_limit(struct lint *lint, const struct rule *rule)
{
	if (is_limit(rule) && rule->limit.key != RL_KEY_FLOW &&
	    key_parts(&rule->limit) & (RL_PART_SPORT | RL_PART_DPORT) &&
	    match_wants(&rule->match, RL_MATCH_PROTO) &&
	    !protocol_has(rule->match.proto, RL_HAS_PORTS))
		lint_warn(
			lint, rule,
			"counts by ports, which its protocol does not have, so they tell no packets "
			"apart: leave them out of the key, or write tcp, udp or sctp");
	if (!lint->ctx->leaving && is_hidden_in_fragments(rule, lint->policy))
		lint_warn(
			lint, rule,
			"does not hold datagrams whose first fragment ends before the payload: add "
			"for example \"rule any fragment limit 50/second per rule\"");
	burst_look(lint, rule);
	share_look(lint, rule);
	unknown_look(lint, rule);
}
