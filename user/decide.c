// SPDX-License-Identifier: GPL-2.0-only
/* Which rules decide: by longest prefix, allow before deny before limits, then those of the device.
 * Where only some packets match a rule, those that it leaves go on to the next.
 */
#include "decide.h"

#include <errno.h>

#include "units.h"

struct search {
	const struct policy *policy;
	const struct asked *asked;
	struct policy *found;
	int error;
	bool settled; /* no shorter prefix can decide */
	bool limited; /* some packets are held to limits */
};

/* ---- which packets a rule matches */

static bool port_within(uint16_t port, uint16_t first, uint16_t last)
{
	return port >= first && port <= last;
}

/* Can any packet of the flow match? */
static bool flow_may_match(const struct flow *flow, const struct rl_match *match)
{
	const uint16_t flags = match->flags;

	if (flags & RL_MATCH_FRAGMENT || (flags & RL_MATCH_PROTO && match->proto != 6))
		return false;
	if (flags & RL_MATCH_SRC && !prefix_contains(match->src, match->src_len, flow->src))
		return false;
	if (flags & RL_MATCH_DST && flow->dst_known &&
	    !prefix_contains(match->dst, match->dst_len, flow->dst))
		return false;
	return !(flags & RL_MATCH_DPORT) || !flow->dport ||
	       port_within(flow->dport, match->dport_first, match->dport_last);
}

/* Does every packet, also that of the next connection, which has another source port? */
static bool flow_must_match(const struct flow *flow, const struct rl_match *match)
{
	const uint16_t some = RL_MATCH_SYN | RL_MATCH_NEW_SOURCE | RL_MATCH_SPORT;

	if (match->flags & some || !flow_may_match(flow, match))
		return false;
	return (!(match->flags & RL_MATCH_DST) || flow->dst_known) &&
	       (!(match->flags & RL_MATCH_DPORT) || flow->dport);
}

/* A rule whose `src` (or `dst`, where the instance goes by that) is not this address. */
static bool is_of_another(const struct asked *asked, const struct rl_match *match)
{
	if (asked->by_dest)
		return match->flags & RL_MATCH_DST &&
		       !prefix_contains(match->dst, match->dst_len, asked->addr);
	return match->flags & RL_MATCH_SRC &&
	       !prefix_contains(match->src, match->src_len, asked->addr);
}

static bool may_match(const struct asked *asked, const struct rule *rule)
{
	return !is_of_another(asked, &rule->match) &&
	       (!asked->flow || flow_may_match(asked->flow, &rule->match));
}

static bool must_match(const struct asked *asked, const struct rule *rule)
{
	if (rule->for_ns)
		return false;
	return asked->flow ? flow_must_match(asked->flow, &rule->match) : !rule->match.flags;
}

/* ---- prefixes */

static bool of_prefix(const struct rule *rule, enum prefix_kind kind, int len,
		      const struct search *search)
{
	if (rule->kind != kind || !may_match(search->asked, rule))
		return false;
	return kind != PREFIX_ADDR ||
	       (rule->len == len && prefix_contains(rule->addr, rule->len, search->asked->addr));
}

/* The rules of one prefix: allow before deny before limits, and an unconditional one keeps those
 * behind it from ever being asked. */
static void search_prefix(struct search *search, enum prefix_kind kind, int len)
{
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT && !search->settled;
	     action++) {
		bool settled = false;

		policy_for_each (search->policy, rule) {
			if (rule->action != action || !of_prefix(rule, kind, len, search))
				continue;
			if (policy_append(search->found, rule))
				search->error = -ENOMEM;
			search->limited |= action == RL_ACTION_LIMIT;
			settled |= must_match(search->asked, rule);
		}
		search->settled = settled;
	}
}

/* Prefixes around the address, as bits of their lengths. */
static void lengths_find(const struct search *search, bool lengths[129])
{
	policy_for_each (search->policy, rule)
		if (rule->kind == PREFIX_ADDR &&
		    prefix_contains(rule->addr, rule->len, search->asked->addr))
			lengths[rule->len] = true;
}

int rules_decide(const struct policy *policy, const struct asked *asked, struct policy *out)
{
	struct search search = {.policy = policy, .asked = asked, .found = out};
	bool lengths[129] = {false};

	lengths_find(&search, lengths);
	for (int len = 128; len >= 0 && !search.settled; len--)
		if (lengths[len])
			search_prefix(&search, PREFIX_ADDR, len);
	if (!search.settled)
		search_prefix(&search, PREFIX_ANY, 0);
	if (search.settled && !search.limited)
		return search.error; /* what is allowed or denied does not come to the device's */
	search.settled = false;
	search_prefix(&search, PREFIX_DEVICE, 0);
	return search.error;
}
