// SPDX-License-Identifier: GPL-2.0-only
/* Finds the rules that decide: longest prefix first, allow before deny before limits, then the
 * rules of the device.
 *
 * A rule decides if the packets of the rules before it do not cover all of its own. If the search
 * for an uncovered packet takes too long, the rule counts as deciding; so do one that matches
 * packets of which their sets do not show enough, and one whose ranges, met with those of others,
 * are too many (RANGES_MAX).
 */

#include "policy/packets/decide.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/units.h"
#include "policy/field.h"
#include "policy/packets/cover.h"
#include "policy/packets/level.h"
#include "policy/policy.h"

#define STEPS_RULE (1u << 18) /* about 10 ms; real policies need a few hundred */
#define STEPS_ALL  (1u << 23)

struct decide_search {
	const struct policy *policy;
	const struct asked *asked;
	uint8_t *levels; /* of each rule */
	struct policy *found;
	struct opaques opaques;
	struct packet_sets before;  /* of rules with prefixes: packets that later rules never see */
	struct packet_sets decided; /* the same of the device's rules */
	/* Packets that reach the device's rules: those of a set that none of `before`, up to its
	 * own, decides on. */
	struct packet_sets arrivals;
	unsigned int left; /* steps of all rules */
	int error;
};

static void search_add(struct decide_search *search, struct packet_sets *sets,
		       const struct packets *packets)
{
	if (packets_add(sets, packets))
		search->error = -ENOMEM;
}

/* ---- packets that no rule decides on */

/* Packets that are never established. Other rules do not ask. */
static void unproven_add(struct decide_search *search)
{
	struct packets all = packets_all(search->asked), some;
	unsigned int next = 0;
	const uint8_t *proven;
	size_t count = header_protocols(RL_HAS_PAYLOAD, &proven);
	bool asked = false;

	policy_for_each (search->policy, rule)
		asked |= rule->match.flags & RL_MATCH_ESTABLISHED;
	if (!asked)
		return;
	pset_narrow(&all.set, DIM_PROVEN, 1, 1);
	for (size_t i = 0; i <= count; i++) {
		unsigned int end = i < count ? proven[i] : 256;

		some = all;
		pset_narrow(&some.set, DIM_PROTO, next, end - 1);
		search_add(search, &search->before, &some);
		next = end + 1;
	}
	some = all;
	pset_narrow(&some.set, DIM_SHAPE, SHAPE_LATER, SHAPE_LATER);
	search_add(search, &search->before, &some);
	some = all;
	bytes_narrow(&some.set.tcp_flags, SYN_FLAGS, false);
	search_add(search, &search->before, &some);
}

/* IPv6 packets that no rule sees: those with mapped addresses, which are malformed, and those with
 * the number of an extension header as protocol, except later fragments. */
static void malformed_add(struct decide_search *search)
{
	const uint8_t *extensions;
	size_t count = extension_headers(&extensions);
	struct packets all = packets_all(search->asked), some = all;

	if (prefix_is_ipv4(search->asked->addr, 128))
		return;
	packets_narrow_peer(&some, search->asked, mapped_prefix, RL_MAPPED_BITS);
	search_add(search, &search->before, &some);
	for (size_t i = 0; i < count; i++) {
		some = all;
		pset_narrow(&some.set, DIM_PROTO, extensions[i], extensions[i]);
		pset_narrow(&some.set, DIM_SHAPE, SHAPE_WHOLE, SHAPE_FIRST);
		search_add(search, &search->before, &some);
	}
}

/* An address is in a set or it is not, and an alarm is on or it is not, while of other conditions
 * neither may hold. */
static void neither_add(struct decide_search *search)
{
	const struct opaques *opaques = &search->opaques;

	for (size_t i = 0; i < opaques->count; i++) {
		struct packets none = packets_all(search->asked), both = none;

		if (opaques->flag[i] & ~(RL_MATCH_SRC | RL_MATCH_DST))
			continue;
		packets_narrow_bits(&none, BIT_OPAQUE(i) * 3, 0);
		packets_narrow_bits(&both, BIT_OPAQUE(i) * 3, BIT_OPAQUE(i) * 3);
		search_add(search, &search->before, &none);
		search_add(search, &search->before, &both);
	}
}

/* ---- prefixes */

/* Are they open to what comes after `before` sets, and `decided` ones of the device's rules? */
static bool is_open(struct decide_search *search, const struct packets *packets, size_t before,
		    size_t decided, unsigned int *steps)
{
	const struct cover cover = {.a = &search->before,
				    .b = &search->decided,
				    .a_count = before,
				    .b_count = decided,
				    .steps = steps};

	return packets_are_open(packets, &cover);
}

/* The same for a rule of the device. */
static bool device_is_open(struct decide_search *search, const struct packets *packets,
			   size_t decided, unsigned int *steps)
{
	for (size_t i = 0; i < search->arrivals.count; i++) {
		const struct packets *arrival = &search->arrivals.at[i];
		struct packets common;

		if (!*steps)
			return true;
		--*steps;
		if (packets_meet(packets, arrival, &common) &&
		    is_open(search, &common, arrival->before, decided, steps))
			return true;
	}
	return false;
}

/* Does the rule decide, after so many sets? Appends its packets to them. */
static bool rule_decides(struct decide_search *search, const struct rule *rule, size_t before,
			 size_t decided)
{
	unsigned int given = search->left < STEPS_RULE ? search->left : STEPS_RULE, steps = given;
	bool device = rule->kind == PREFIX_DEVICE, decides, exact;
	struct packets own;

	if (!packets_of_rule(search->asked, &search->opaques, rule, &own, &exact))
		return false;
	own.before = before;
	decides = device ? device_is_open(search, &own, decided, &steps)
			 : is_open(search, &own, before, 0, &steps);
	search->left -= given - steps;
	if (!device && rule->action == RL_ACTION_LIMIT)
		search_add(search, &search->arrivals, &own);
	/* Else later rules decide on some, or when it expires. */
	if (exact && !rule->for_ns && search->levels[rule - search->policy->rules] != LEVEL_UNKNOWN)
		search_add(search, device ? &search->decided : &search->before, &own);
	return decides;
}

/* The rules of one prefix with one action; none of them hides packets from another. */
static void search_action(struct decide_search *search, enum prefix_kind kind, int len,
			  enum rl_action action)
{
	size_t before = search->before.count, decided = search->decided.count;

	policy_for_each (search->policy, rule) {
		if (rule->action != action ||
		    !rule_is_at(search->policy, search->levels, rule, kind, len))
			continue;
		if (rule_decides(search, rule, before, decided) &&
		    policy_append(search->found, rule))
			search->error = -ENOMEM;
	}
}

static void search_prefix(struct decide_search *search, enum prefix_kind kind, int len)
{
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		search_action(search, kind, len, action);
}

int rules_decide(const struct policy *policy, const struct asked *asked, struct policy *out)
{
	struct decide_search search = {
		.policy = policy, .asked = asked, .found = out, .left = STEPS_ALL};
	struct packets all = packets_all(asked);
	bool lengths[LEVEL_LONGEST + 1]; /* of the prefixes that contain the address */

	search.levels = policy_levels(policy, asked->addr, asked->members);
	if (!search.levels)
		return -ENOMEM;
	opaques_find(policy, &search.opaques);
	neither_add(&search);
	malformed_add(&search);
	unproven_add(&search);
	levels_asked(policy, search.levels, lengths);
	for (int len = LEVEL_LONGEST; len >= 0; len--)
		if (lengths[len])
			search_prefix(&search, PREFIX_ADDR, len);
	search_prefix(&search, PREFIX_ANY, 0);
	all.before = search.before.count;
	search_add(&search, &search.arrivals, &all);
	search_prefix(&search, PREFIX_DEVICE, 0);
	packet_sets_clear(&search.before);
	packet_sets_clear(&search.decided);
	packet_sets_clear(&search.arrivals);
	free(search.levels);
	return search.error;
}
