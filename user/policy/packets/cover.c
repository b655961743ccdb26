// SPDX-License-Identifier: GPL-2.0-only
/* The search for a packet outside of all sets takes one other set after the other out of a set,
 * which leaves it in parts.
 */
#include "policy/packets/cover.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "policy/field.h"
#include "policy/packets/level.h"
#include "policy/while.h"

int packets_add(struct packet_sets *sets, const struct packets *packets)
{
	struct packets *at = array_room(sets->at, sets->count, &sets->capacity, sizeof(*at));

	if (!at)
		return -ENOMEM;
	sets->at = at;
	at[sets->count++] = *packets;
	return 0;
}

void packet_sets_clear(struct packet_sets *sets)
{
	free(sets->at);
	*sets = (struct packet_sets){0};
}

void packets_narrow_bits(struct packets *packets, uint64_t care, uint64_t bits)
{
	packets->care |= care;
	packets->bits |= bits & care;
}

bool packets_meet(const struct packets *a, const struct packets *b, struct packets *out)
{
	if (a->care & b->care & (a->bits ^ b->bits) || !pset_meet(&a->set, &b->set, &out->set))
		return false;
	out->care = a->care | b->care;
	out->bits = a->bits | b->bits;
	out->before = a->before;
	return true;
}

/* ---- the search */

/* Adds those of the packets that have another number in the dimension than the cut, which leaves
 * the rest. 0 or -ENOMEM. */
static int dim_cut(struct packet_sets *parts, struct packets *left, const struct packets *cut,
		   enum dim dim)
{
	struct ranges others = cut->set.dim[dim], own = left->set.dim[dim];
	struct packets part;
	int ret = 0;

	if (ranges_within(&own, &others))
		return 0;
	ranges_invert(&others, dim_last(dim));
	part = *left;
	for (uint32_t i = 0; !ret && i < others.count; i++) {
		const struct ranges one = {.count = 1, .range = {others.range[i]}};

		if (ranges_meet(&own, &one, &part.set.dim[dim]))
			ret = packets_add(parts, &part);
	}
	ranges_meet(&own, &cut->set.dim[dim], &left->set.dim[dim]);
	return ret;
}

/* The same in one of the addresses. */
static int end_cut(struct packet_sets *parts, struct packets *left, const struct packets *cut,
		   bool src)
{
	struct addresses *own = src ? &left->set.src : &left->set.dst;
	const struct addresses *taken = src ? &cut->set.src : &cut->set.dst;
	struct addresses others = *taken;
	struct packets part = *left;
	int ret = 0;

	addresses_invert(&others);
	for (uint32_t i = 0; !ret && i < others.count; i++) {
		const struct addresses one = {.count = 1, .at = {others.at[i]}};

		if (addresses_meet(own, &one, src ? &part.set.src : &part.set.dst))
			ret = packets_add(parts, &part);
	}
	addresses_meet(own, taken, own);
	return ret;
}

/* The same in TCP flags and bits. */
static int others_cut(struct packet_sets *parts, struct packets *left, const struct packets *cut)
{
	struct packets part = *left;
	uint64_t flags = 0;
	int ret = 0;

	for (int i = 0; i < 4; i++) {
		flags |= part.set.tcp_flags.word[i] &= ~cut->set.tcp_flags.word[i];
		left->set.tcp_flags.word[i] &= cut->set.tcp_flags.word[i];
	}
	if (flags)
		ret = packets_add(parts, &part);
	for (uint64_t bits = cut->care & ~left->care; !ret && bits; bits &= bits - 1) {
		part = *left;
		packets_narrow_bits(&part, bits & -bits, ~cut->bits);
		packets_narrow_bits(left, bits & -bits, cut->bits);
		ret = packets_add(parts, &part);
	}
	return ret;
}

/* Adds the packets that are not in the cut, as sets apart from each other. 0 or -ENOMEM. */
static int parts_add(struct packet_sets *parts, struct packets *left, const struct packets *cut)
{
	int ret = end_cut(parts, left, cut, true) ?: end_cut(parts, left, cut, false);

	for (enum dim dim = 0; !ret && dim < DIMS; dim++)
		ret = dim_cut(parts, left, cut, dim);
	return ret ?: others_cut(parts, left, cut);
}

/* The first set of the cover that has some of the packets, from number `before` on, which moves
 * past it. NULL: there is none, or no step is left. */
static const struct packets *cut_next(const struct cover *cover, struct packets *packets)
{
	struct packets common;

	while (packets->before < cover->a_count + cover->b_count && *cover->steps) {
		size_t i = packets->before++;
		const struct packets *cut =
			i < cover->a_count ? &cover->a->at[i] : &cover->b->at[i - cover->a_count];

		--*cover->steps;
		if (packets_meet(packets, cut, &common))
			return cut;
	}
	return NULL;
}

bool packets_are_open(const struct packets *packets, const struct cover *cover)
{
	struct packet_sets parts = {0};
	struct packets now = *packets;
	bool open;

	now.before = 0; /* of a part: sets of the cover that have none of its packets */
	open = packets_add(&parts, &now);
	while (!open && parts.count) {
		const struct packets *cut;

		now = parts.at[--parts.count];
		cut = cut_next(cover, &now);
		open = !cut || parts_add(&parts, &now, cut);
	}
	packet_sets_clear(&parts);
	return open;
}

/* ---- the packets asked about */

static bool is_ipv4(const struct asked *asked)
{
	return prefix_is_ipv4(asked->addr, 128);
}

void packets_narrow_peer(struct packets *packets, const struct asked *asked, const uint8_t addr[16],
			 uint8_t len)
{
	struct addresses *peer = asked->by_dest ? &packets->set.src : &packets->set.dst;
	const struct addresses only = addresses_of(addr, len);

	addresses_meet(peer, &only, peer);
}

/* The segments that a connection needs: a rule on others does not stop it. None is without SYN and
 * ACK, no SYN pushes, and only those of the server come with ACK. */
static void narrow_segments(const struct flow *flow, struct bytes *flags)
{
	const uint8_t syn = TH_SYN, both = TH_SYN | TH_ACK, pushed = TH_SYN | TH_PUSH;
	const uint8_t others = ~(both | TH_PUSH);

	bytes_narrow(flags, (struct rl_numbers){.first = 0, .last = others}, false);
	bytes_narrow(flags, (struct rl_numbers){.first = 0, .last = both}, true);
	bytes_narrow(flags, (struct rl_numbers){.first = pushed, .last = pushed}, true);
	bytes_narrow(flags, (struct rl_numbers){.first = flow->answers ? syn : both, .last = both},
		     true);
}

/* A tunnel needs packets as large as the segments of a connection. */
static void narrow_flow(const struct asked *asked, struct packets *out)
{
	const struct flow *flow = asked->flow;
	uint8_t proto = flow->proto ? flow->proto : IPPROTO_TCP;

	pset_narrow(&out->set, DIM_PROTO, proto, proto);
	pset_narrow(&out->set, DIM_SHAPE, SHAPE_WHOLE, SHAPE_WHOLE);
	pset_narrow(&out->set, DIM_NUMBER(LENGTH), is_ipv4(asked) ? 40 : 60, UINT32_MAX);
	pset_narrow(&out->set, DIM_NUMBER(TTL), 2, UINT8_MAX);
	if (!flow->proto)
		narrow_segments(flow, &out->set.tcp_flags);
	/* Any port of the client: the next connection uses another one. */
	if (flow->answers && flow->sport)
		pset_narrow(&out->set, DIM_SPORT, flow->sport, flow->sport);
	else if (!flow->answers && flow->dport)
		pset_narrow(&out->set, DIM_DPORT, flow->dport, flow->dport);
	if (asked->by_dest || flow->dst_known)
		packets_narrow_peer(out, asked, asked->by_dest ? flow->src : flow->dst, 128);
}

struct packets packets_all(const struct asked *asked)
{
	struct packets all = {0};

	pset_all(&all.set);
	pset_narrow_prefix(&all.set, !asked->by_dest, asked->addr, 128);
	pset_narrow(&all.set, DIM_NUMBER(LENGTH), is_ipv4(asked) ? 20 : 40, UINT16_MAX);
	if (is_ipv4(asked))
		packets_narrow_peer(&all, asked, mapped_prefix, RL_MAPPED_BITS);
	if (asked->flow)
		narrow_flow(asked, &all);
	return all;
}

/* ---- conditions that are neither ranges nor flags */

/* Its number, or OPAQUE_MAX. */
static size_t opaque_find(const struct opaques *opaques, const struct rl_extra *extra,
			  unsigned int flag)
{
	for (size_t i = 0; i < opaques->count; i++)
		if (opaques->flag[i] == flag &&
		    (flag == OPAQUE_WHILE ? !strcmp(opaques->of[i]->alarm, extra->alarm)
					  : same_opaque(opaques->of[i], extra, flag)))
			return i;
	return OPAQUE_MAX;
}

static bool opaque_stated(const struct rule *rule, unsigned int flag)
{
	bool off;

	return flag == OPAQUE_WHILE ? *rule_while(rule, &off) != '\0' : rule->match.flags & flag;
}

static void opaque_add(struct opaques *opaques, const struct rule *rule, unsigned int flag)
{
	if (!opaque_stated(rule, flag) || opaques->count == OPAQUE_MAX ||
	    opaque_find(opaques, rule->extra, flag) < OPAQUE_MAX)
		return;
	opaques->flag[opaques->count] = flag;
	opaques->of[opaques->count++] = rule->extra;
}

void opaques_find(const struct policy *policy, struct opaques *out)
{
	out->count = 0;
	policy_for_each (policy, rule) {
		opaque_add(out, rule, RL_MATCH_PAYLOAD);
		opaque_add(out, rule, RL_MATCH_FILTER);
		opaque_add(out, rule, OPAQUE_WHILE);
		if (match_names_set(&rule->match, RL_MATCH_SRC))
			opaque_add(out, rule, RL_MATCH_SRC);
		if (match_names_set(&rule->match, RL_MATCH_DST))
			opaque_add(out, rule, RL_MATCH_DST);
	}
}

/* False: there are too many to distinguish this one. */
static bool narrow_opaque(const struct opaques *opaques, const struct rule *rule, unsigned int flag,
			  struct packets *out)
{
	size_t number;
	bool negated;

	if (!opaque_stated(rule, flag))
		return true;
	number = opaque_find(opaques, rule->extra, flag);
	if (number == OPAQUE_MAX)
		return false;
	negated = flag == OPAQUE_WHILE ? rule->extra->alarm_not : !match_wants(&rule->match, flag);
	packets_narrow_bits(out, BIT_OPAQUE(number) * 3, BIT_OPAQUE(number) << negated);
	return true;
}

/* ---- fields */

/* The address of the packets that the match is about; NULL: any. */
static const uint8_t *address_asked(const struct asked *asked, enum rl_match_flag flag)
{
	const struct flow *flow = asked->flow;

	if ((flag == RL_MATCH_DST) == asked->by_dest)
		return asked->addr;
	if (!flow || (flag == RL_MATCH_DST && !flow->dst_known))
		return NULL;
	return flag == RL_MATCH_DST ? flow->dst : flow->src;
}

/* Applies the matches of sets. False: no packet matches; *exact becomes false if that is not known
 * of each. */
static bool accept_sets(const struct asked *asked, const struct opaques *opaques,
			const struct rule *rule, struct packets *out, bool *exact)
{
	fields_for_each (flag, (unsigned int)(RL_MATCH_SRC | RL_MATCH_DST)) {
		const uint8_t *addr = address_asked(asked, flag);
		int len = SET_UNKNOWN;

		if (!match_names_set(&rule->match, flag))
			continue;
		if (addr)
			len = set_member_len(asked->members,
					     flag == RL_MATCH_SRC ? rule->extra->src_set
								  : rule->extra->dst_set,
					     addr);
		if (len == SET_UNKNOWN)
			*exact &= narrow_opaque(opaques, rule, flag, out);
		else if ((len != SET_NO_MEMBER) != match_wants(&rule->match, flag))
			return false;
	}
	return true;
}

bool packets_of_rule(const struct asked *asked, const struct opaques *opaques,
		     const struct rule *rule, struct packets *out, bool *exact)
{
	struct packets all = packets_all(asked), own = {0};
	enum held held = while_held(rule, asked->alarms);

	pset_of(rule, &own.set);
	*exact = narrow_opaque(opaques, rule, RL_MATCH_PAYLOAD, &own);
	if (held == HELD_NOT || !accept_sets(asked, opaques, rule, &own, exact))
		return false;
	if (held == HELD_UNKNOWN)
		*exact &= narrow_opaque(opaques, rule, OPAQUE_WHILE, &own);
	*exact &= narrow_opaque(opaques, rule, RL_MATCH_FILTER, &own);
	return packets_meet(&own, &all, out);
}
