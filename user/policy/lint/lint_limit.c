// SPDX-License-Identifier: GPL-2.0-only
/* Whether one limit does what another is for: in its place for a longer prefix, or beside it
 * against forged sources.
 */

#include "policy/lint/lint_limit.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "policy/packets/decide.h"
#include "policy/names.h"
#include "policy/packets/pset.h"
#include "policy/parser.h"
#include "policy/lint/proof.h"
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

bool outlasts(const struct rule *rule, uint64_t for_ns)
{
	return !rule->for_ns || (for_ns && rule->for_ns >= for_ns);
}

/* ---- in the place of another */

static bool is_one_address(const struct rule *rule)
{
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);

	return rule->kind == PREFIX_ADDR && rule->len >= (ipv4 ? 128 : 64);
}

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

/* Does the limit spare packets that `hidden` drops? */
static bool spares_more(const struct rule *limit, const struct rule *hidden)
{
	return limit->limit.over == RL_OVER_UNLESS && hidden->limit.over != RL_OVER_UNLESS &&
	       !match_wants_strangers(&hidden->match);
}

bool limit_is_as_strict(const struct rule *limit, const struct rule *hidden)
{
	const struct rl_limit *a = &limit->limit, *b = &hidden->limit;

	if (is_one_address(limit))
		return true;
	if ((b->over == RL_OVER_BAN && a->over != RL_OVER_BAN) || spares_more(limit, hidden))
		return false;
	return !is_more(in_bits(a, a->amount) / a->period_ns,
			in_bits(b, b->amount) / b->period_ns) &&
	       !is_more(at_once(a), at_once(b));
}

/* ---- ports in the key */

bool key_lacks_ports(const struct rule *rule)
{
	const struct protocol *known = protocol_by_number(rule->match.proto);

	return is_limit(rule) && rule->limit.key != RL_KEY_FLOW &&
	       key_parts(&rule->limit) & (RL_PART_SPORT | RL_PART_DPORT) &&
	       match_wants(&rule->match, RL_MATCH_PROTO) && !(known && known->has_ports);
}

/* ---- bursts */

bool burst_loss(const struct rule *rule, const struct policy_context *ctx,
		char text[BURST_LOSS_MAX])
{
	const struct rl_limit *limit = &rule->limit;
	uint64_t full = packet_size(limit, ctx, ETHERNET_BYTES), wanted, held;
	char size[QUANTITY_TEXT_MAX], usual[QUANTITY_TEXT_MAX];

	if (!limits_packets(rule) ||
	    (limit->algorithm != RL_TOKEN_BUCKET && limit->algorithm != RL_WARM_UP))
		return false;
	wanted = burst_default(limit, ctx);
	held = limit->size / full;
	if (limit->size >= wanted || held >= BURST_PACKETS)
		return false;
	limit_size_print(size, sizeof(size), limit, limit->size);
	limit_size_print(usual, sizeof(usual), limit, wanted);
	if (held == 1)
		snprintf(
			text, BURST_LOSS_MAX,
			"its burst %s holds one packet, so of packets that come in pairs one in two "
			"is dropped even below the rate: leave burst out for %s",
			size, usual);
	else
		snprintf(
			text, BURST_LOSS_MAX,
			"its burst %s holds %u packets, so of %u that come together one is dropped "
			"even below the rate: leave burst out for %s",
			size, (unsigned int)held, (unsigned int)held + 1, usual);
	return true;
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
	if (match_wants_strangers(rest)) {
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

/* Does `rule` hold back what matches it of a flood of sources that send a packet each, for as long
 * as `limit`? A rule of any is not asked about packets that a longer prefix decides on. */
static bool holds_forged(const struct rule *rule, const struct rule *limit)
{
	if (!limits_packets(rule) || !key_is_shared(rule))
		return false;
	if (rule->kind == PREFIX_ANY && limit->kind == PREFIX_ADDR)
		return false;
	return outlasts(rule, limit->for_ns);
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

/* Is there a packet of the limit that none of the rules before it in the question holds? */
static bool is_open(const struct policy *question, bool ipv4, int *error)
{
	static const struct asked from[] = {
		{.addr = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
		{.addr = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1}},
	};
	struct policy found = {0};
	bool open = false;

	if (rules_decide(question, &from[ipv4], &found))
		*error = -ENOMEM;
	policy_for_each (&found, rule)
		open |= rule->counter_id == LINT_MARK;
	policy_clear(&found);
	return open;
}

static bool passes_forged(const struct policy *wide, const struct rule *limit, bool ipv4,
			  int *error)
{
	struct policy question = {0};
	bool open = false;

	if (!has_family(limit, ipv4))
		return false;
	policy_for_each (wide, rule) {
		if (!holds_forged(rule, limit) || !has_family(rule, ipv4))
			continue;
		if (match_covers(rule, limit))
			goto out;
		if (question_add(&question, rule, RL_ACTION_DENY, 0))
			*error = -ENOMEM;
	}
	if (question_add(&question, limit, RL_ACTION_LIMIT, LINT_MARK))
		*error = -ENOMEM;
	open = is_open(&question, ipv4, error);
out:
	policy_clear(&question);
	return open;
}

const struct rule *forged_find(const struct policy *wide, int *error)
{
	const struct rule *first = NULL;

	policy_for_each (wide, rule) {
		if (!limits_packets(rule) || !is_wide(rule) || key_is_shared(rule) ||
		    match_wants_established(&rule->match) || (first && rule->line > first->line))
			continue;
		if (passes_forged(wide, rule, true, error) ||
		    passes_forged(wide, rule, false, error))
			first = rule;
	}
	return first;
}

/* ---- known sources */

/* A limit of all unknown sources together, at any time. */
static bool holds_unknown(const struct rule *rule)
{
	bool off;

	return rule->kind == PREFIX_DEVICE && limits_packets(rule) && !limit_parts(&rule->limit) &&
	       match_wants(&rule->match, RL_MATCH_NEW_SOURCE) && !rule_while(rule, &off)[0];
}

static double rate_of(const struct rl_limit *limit)
{
	return in_bits(limit, limit->amount) / limit->period_ns;
}

static enum unknown_rival rival_kind(const struct rule *rule, const struct rule *wider)
{
	const struct rl_limit *own = &rule->limit, *other = &wider->limit;

	if ((own->unit == RL_PACKETS) != (other->unit == RL_PACKETS) ||
	    !outlasts(wider, rule->for_ns) || !match_covers(wider, rule) ||
	    match_covers(rule, wider))
		return UNKNOWN_NO_RIVAL;
	if (is_more(rate_of(other), rate_of(own)))
		return UNKNOWN_PASS;
	return is_more(at_once(other), at_once(own)) ? UNKNOWN_NO_RIVAL : UNKNOWN_REFUSED;
}

const struct rule *unknown_rival_find(const struct rule *limit, const struct policy *policy,
				      enum unknown_rival *kind)
{
	if (!holds_unknown(limit))
		return NULL;
	policy_for_each (policy, rule) {
		*kind = holds_unknown(rule) ? rival_kind(limit, rule) : UNKNOWN_NO_RIVAL;
		if (*kind != UNKNOWN_NO_RIVAL)
			return rule;
	}
	return NULL;
}

/* ---- fragments */

/* Does it hold back fragments of what the limit is for? */
static bool holds_fragments(const struct rule *rule, const struct rule *limit)
{
	const struct match *match = &rule->match;

	if (rule->action == RL_ACTION_ALLOW || is_shadow(rule) ||
	    !match_wants(match, RL_MATCH_FRAGMENT))
		return false;
	if (match_wants(match, RL_MATCH_PROTO) && !match_is_proto(&limit->match, match->proto))
		return false;
	return rule->kind == PREFIX_ANY || rule->kind == PREFIX_DEVICE || same_prefix(rule, limit);
}

bool is_hidden_in_fragments(const struct rule *limit, const struct policy *policy)
{
	if (!is_limit(limit) || is_shadow(limit) || !(limit->match.flags & RL_MATCH_PAYLOAD) ||
	    limit->match.flags & RL_MATCH_FRAGMENT)
		return false;
	policy_for_each (policy, rule)
		if (holds_fragments(rule, limit))
			return false;
	return true;
}
