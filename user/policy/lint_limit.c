// SPDX-License-Identifier: GPL-2.0-only
/* Whether one limit does what another is for: in its place for a longer prefix, or beside it
 * against forged sources.
 */

#include "lint_limit.h"

#include <netinet/in.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "names.h"
#include "overlap.h"
#include "proof.h"
#include "units.h"

bool is_shadow(const struct rule *rule)
{
	return is_limit(rule) &&
	       (rule->limit.over == RL_OVER_SHADOW || rule->limit.over == RL_OVER_MARK);
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
	uint8_t parts = key_parts(&limit->limit);

	if (!is_limit(limit) || is_shadow(limit) ||
	    (limit->limit.unit == RL_PACKETS) != (hidden->limit.unit == RL_PACKETS))
		return false;
	return parts == key_parts(&hidden->limit) || !parts ||
	       (is_one_address(limit) && limit->limit.key == rule_default_key(limit, ctx));
}

/* Packets or bits. */
static double in_bits(const struct rl_limit *limit, uint64_t amount)
{
	return (double)amount * (limit->unit == RL_BYTES ? 8 : 1);
}

/* The most that may pass at once; 0: that depends on the packets before. */
static double at_once(const struct rl_limit *limit)
{
	if (limit->algorithm == RL_WARM_UP)
		return 0;
	if (limit->algorithm == RL_TOKEN_BUCKET || limit->algorithm == RL_LEAKY_BUCKET)
		return in_bits(limit, limit->size);
	return in_bits(limit, limit->amount);
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
	double most = at_once(b);

	if (is_one_address(limit))
		return true;
	if ((b->over == RL_OVER_BAN && a->over != RL_OVER_BAN) || spares_more(limit, hidden))
		return false;
	return !is_more(in_bits(a, a->amount) / a->period_ns,
			in_bits(b, b->amount) / b->period_ns) &&
	       (most <= 0 || !is_more(at_once(a), most));
}

/* ---- ports in the key */

bool key_lacks_ports(const struct rule *rule)
{
	const struct protocol *known = protocol_by_number(rule->match.proto);

	return is_limit(rule) && rule->limit.key != RL_KEY_FLOW &&
	       key_parts(&rule->limit) & (RL_PART_SPORT | RL_PART_DPORT) &&
	       match_wants(&rule->match, RL_MATCH_PROTO) && !(known && known->has_ports);
}

/* ---- forged sources */

/* Does the limit count several sources by one key? Not by what a forger may choose: ports, but for
 * the one that the rule names. */
static bool key_is_shared(const struct rule *rule)
{
	const struct rl_match *match = &rule->match;
	bool one = match_wants(match, RL_MATCH_DPORT) && match->dport_first == match->dport_last;
	uint8_t common = RL_PART_DEST | RL_PART_PROTO | (one ? RL_PART_DPORT : 0);

	return !(key_parts(&rule->limit) & ~common);
}

static bool wants_prefix(const struct rl_match *match, enum rl_match_flag flag)
{
	return match_wants(match, flag) && !match_names_set(match, flag);
}

/* Can packets of the family have the rule's prefix and match? */
static bool has_family(const struct rule *rule, bool ipv4)
{
	const struct rl_match *match = &rule->match;

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
	struct rl_match *rest;
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

/* Does `rule` hold back a flood of sources that send a packet each, of this family and within
 * `limit`? A rule of any is not asked about packets that a longer prefix decides on. */
static bool holds_forged(const struct rule *rule, const struct rule *limit, bool ipv4)
{
	if (!is_limit(rule) || is_shadow(rule) || !key_is_shared(rule))
		return false;
	if (rule->kind == PREFIX_ANY && limit->kind == PREFIX_ADDR)
		return false;
	return outlasts(rule, limit->for_ns) && has_family(rule, ipv4) && match_covers(rule, limit);
}

static bool passes_forged(const struct policy *wide, const struct rule *limit, bool ipv4)
{
	if (!has_family(limit, ipv4))
		return false;
	policy_for_each (wide, rule)
		if (holds_forged(rule, limit, ipv4))
			return false;
	return true;
}

const struct rule *forged_find(const struct policy *wide)
{
	const struct rule *first = NULL;

	policy_for_each (wide, rule) {
		if (!is_limit(rule) || is_shadow(rule) || !is_wide(rule) || key_is_shared(rule) ||
		    match_wants_established(&rule->match) || (first && rule->line > first->line))
			continue;
		if (passes_forged(wide, rule, true) || passes_forged(wide, rule, false))
			first = rule;
	}
	return first;
}
