// SPDX-License-Identifier: GPL-2.0-only
/* The search for a packet outside of all boxes cuts a box at the borders of one other box after the
 * other. A rule's boxes are the product of what it accepts in each field. A rule with more than
 * BOXES_MAX (two long lists of ports) has fewer and larger ones instead.
 */
#include "policy/packets/box.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/field.h"
#include "policy/packets/level.h"
#include "policy/while.h"

#define BOXES_MAX 64

int boxes_add(struct boxes *boxes, const struct box *box)
{
	size_t capacity = boxes->capacity ? 2 * boxes->capacity : 64;
	struct box *more;

	if (boxes->count == boxes->capacity) {
		more = reallocarray(boxes->box, capacity, sizeof(*more));
		if (!more)
			return -ENOMEM;
		boxes->box = more;
		boxes->capacity = capacity;
	}
	boxes->box[boxes->count++] = *box;
	return 0;
}

void boxes_clear(struct boxes *boxes)
{
	free(boxes->box);
	*boxes = (struct boxes){0};
}

void box_narrow(struct box *box, enum dim d, uint32_t first, uint32_t last)
{
	box->first[d] = first > box->first[d] ? first : box->first[d];
	box->last[d] = last < box->last[d] ? last : box->last[d];
}

static void box_narrow_peer(struct box *box, u128 first, u128 last)
{
	box->peer_first = first > box->peer_first ? first : box->peer_first;
	box->peer_last = last < box->peer_last ? last : box->peer_last;
}

void box_narrow_bits(struct box *box, uint64_t care, uint64_t bits)
{
	box->care |= care;
	box->bits |= bits & care;
}

bool box_meet(const struct box *a, const struct box *b, struct box *out)
{
	uint64_t flags = 0;

	if (a->care & b->care & (a->bits ^ b->bits))
		return false;
	*out = *a;
	for (int i = 0; i < 4; i++)
		flags |= out->tcp_flags.word[i] &= b->tcp_flags.word[i];
	if (!flags)
		return false;
	for (enum dim d = 0; d < DIMS; d++) {
		box_narrow(out, d, b->first[d], b->last[d]);
		if (out->first[d] > out->last[d])
			return false;
	}
	box_narrow_peer(out, b->peer_first, b->peer_last);
	box_narrow_bits(out, b->care, b->bits);
	return out->peer_first <= out->peer_last;
}

static bool is_open_from(struct box box, const struct cover *cover, size_t from);

/* Is a part of the box open that lies outside of `cut` in the peer's address? The rest is left in
 * *box. */
static bool peer_is_open(struct box *box, const struct box *cut, const struct cover *cover,
			 size_t from)
{
	struct box part = *box;

	part.peer_last = cut->peer_first - 1;
	if (box->peer_first < cut->peer_first && is_open_from(part, cover, from))
		return true;
	part = *box;
	part.peer_first = cut->peer_last + 1;
	if (box->peer_last > cut->peer_last && is_open_from(part, cover, from))
		return true;
	box_narrow_peer(box, cut->peer_first, cut->peer_last);
	return false;
}

/* The same in the fields that are numbers. */
static bool numbers_are_open(struct box *box, const struct box *cut, const struct cover *cover,
			     size_t from)
{
	for (enum dim d = 0; d < DIMS; d++) {
		struct box part = *box;

		part.last[d] = cut->first[d] - 1;
		if (box->first[d] < cut->first[d] && is_open_from(part, cover, from))
			return true;
		part = *box;
		part.first[d] = cut->last[d] + 1;
		if (box->last[d] > cut->last[d] && is_open_from(part, cover, from))
			return true;
		box_narrow(box, d, cut->first[d], cut->last[d]);
	}
	return false;
}

/* The same in TCP flags and bits. */
static bool others_are_open(struct box *box, const struct box *cut, const struct cover *cover,
			    size_t from)
{
	struct box other = *box;
	uint64_t flags = 0;

	for (int i = 0; i < 4; i++) {
		flags |= other.tcp_flags.word[i] &= ~cut->tcp_flags.word[i];
		box->tcp_flags.word[i] &= cut->tcp_flags.word[i];
	}
	if (flags && is_open_from(other, cover, from))
		return true;
	for (uint64_t left = cut->care & ~box->care; left; left &= left - 1) {
		uint64_t bit = left & -left;
		struct box part = *box;

		box_narrow_bits(&part, bit, ~cut->bits);
		if (is_open_from(part, cover, from))
			return true;
		box_narrow_bits(box, bit, cut->bits);
	}
	return false;
}

static bool is_open_from(struct box box, const struct cover *cover, size_t from)
{
	for (size_t i = from; i < cover->a_count + cover->b_count; i++) {
		const struct box *cut =
			i < cover->a_count ? &cover->a->box[i] : &cover->b->box[i - cover->a_count];
		struct box common;

		if (!*cover->steps)
			return true;
		--*cover->steps;
		if (box_meet(&box, cut, &common))
			return peer_is_open(&box, cut, cover, i + 1) ||
			       numbers_are_open(&box, cut, cover, i + 1) ||
			       others_are_open(&box, cut, cover, i + 1);
	}
	return true;
}

bool box_is_open(const struct box *box, const struct cover *cover)
{
	return is_open_from(*box, cover, 0);
}

/* ---- the boxes of a rule */

/* The values that the rule accepts, dimension by dimension. */
struct accepted {
	struct pset set;
	struct stretch peer[STRETCHES_MAX];
	uint32_t peers;
	struct box all; /* the rest */
};

/* ---- the packets asked about */

static bool is_ipv4(const struct asked *asked)
{
	return prefix_is_ipv4(asked->addr, 128);
}

void box_narrow_prefix(struct box *box, const uint8_t addr[16], uint8_t len)
{
	struct stretch stretch = stretch_of(addr, len);

	box_narrow_peer(box, stretch.first, stretch.last);
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
static void narrow_flow(const struct asked *asked, struct box *box)
{
	const struct flow *flow = asked->flow;
	uint8_t proto = flow->proto ? flow->proto : IPPROTO_TCP;

	box_narrow(box, DIM_PROTO, proto, proto);
	box_narrow(box, DIM_SHAPE, SHAPE_WHOLE, SHAPE_WHOLE);
	box_narrow(box, DIM_NUMBER(LENGTH), is_ipv4(asked) ? 40 : 60, UINT32_MAX);
	box_narrow(box, DIM_NUMBER(TTL), 2, UINT8_MAX);
	if (!flow->proto)
		narrow_segments(flow, &box->tcp_flags);
	/* Any port of the client: the next connection uses another one. */
	if (flow->answers && flow->sport)
		box_narrow(box, DIM_SPORT, flow->sport, flow->sport);
	else if (!flow->answers && flow->dport)
		box_narrow(box, DIM_DPORT, flow->dport, flow->dport);
	if (asked->by_dest || flow->dst_known)
		box_narrow_prefix(box, asked->by_dest ? flow->src : flow->dst, 128);
}

struct box packets_all(const struct asked *asked)
{
	uint32_t family = is_ipv4(asked) ? 0 : 1;
	struct box box = {.peer_last = ~(u128)0};

	for (enum dim dim = 0; dim < DIMS; dim++)
		box.last[dim] = dim_last(dim);
	memset(&box.tcp_flags, 0xff, sizeof(box.tcp_flags));
	box_narrow(&box, DIM_FAMILY, family, family);
	box_narrow(&box, DIM_NUMBER(LENGTH), family ? 40 : 20, UINT16_MAX);
	if (!family)
		box_narrow_prefix(&box, mapped_prefix, RL_MAPPED_BITS);
	if (asked->flow)
		narrow_flow(asked, &box);
	return box;
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
			  struct box *box)
{
	size_t number;
	bool negated;

	if (!opaque_stated(rule, flag))
		return true;
	number = opaque_find(opaques, rule->extra, flag);
	if (number == OPAQUE_MAX)
		return false;
	negated = flag == OPAQUE_WHILE ? rule->extra->alarm_not : !match_wants(&rule->match, flag);
	box_narrow_bits(box, BIT_OPAQUE(number) * 3, BIT_OPAQUE(number) << negated);
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
			const struct rule *rule, struct box *box, bool *exact)
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
			*exact &= narrow_opaque(opaques, rule, flag, box);
		else if ((len != SET_NO_MEMBER) != match_wants(&rule->match, flag))
			return false;
	}
	return true;
}

/* The peers of the packets, and whether there are any: the lookup address is one that the rule
 * matches. */
static bool accept_addresses(const struct asked *asked, struct accepted *out)
{
	const struct addresses *own = asked->by_dest ? &out->set.dst : &out->set.src;
	const struct addresses *other = asked->by_dest ? &out->set.src : &out->set.dst;
	u128 number = stretch_of(asked->addr, 128).first;
	struct stretch at[STRETCHES_MAX];
	size_t count = stretches_of(own, at);

	out->peers = stretches_of(other, out->peer);
	for (size_t i = 0; i < count; i++)
		if (at[i].first <= number && at[i].last >= number)
			return ranges_hold(&out->set.dim[DIM_FAMILY], !is_ipv4(asked));
	return false;
}

/* ---- the product */

static size_t product(const struct accepted *in)
{
	size_t boxes = in->peers;

	for (enum dim dim = 0; dim < DIMS; dim++)
		boxes *= in->set.dim[dim].count;
	return boxes;
}

/* Leaves fewer and larger boxes, if there are too many. */
static bool coarsen(struct accepted *in)
{
	bool exact = true;

	for (; product(in) > BOXES_MAX; exact = false) {
		struct ranges *most = &in->set.dim[0];

		for (enum dim dim = 1; dim < DIMS; dim++)
			most = in->set.dim[dim].count > most->count ? &in->set.dim[dim] : most;
		most->range[0].last = most->range[most->count - 1].last;
		most->count = 1;
	}
	return exact;
}

/* Box number `index` of the product. */
static struct box product_at(const struct accepted *in, size_t index)
{
	struct box box = in->all;

	for (enum dim dim = 0; dim < DIMS; dim++) {
		const struct ranges *ranges = &in->set.dim[dim];
		const struct value_range *range = &ranges->range[index % ranges->count];

		box_narrow(&box, dim, range->first, range->last);
		index /= ranges->count;
	}
	box_narrow_peer(&box, in->peer[index].first, in->peer[index].last);
	return box;
}

int boxes_of_rule(const struct asked *asked, const struct opaques *opaques, const struct rule *rule,
		  struct boxes *out, bool *exact)
{
	struct asked every = *asked;
	struct box packets = packets_all(asked), box;
	struct accepted in;
	enum held held;
	int ret = 0;

	every.flow = NULL;
	in.all = packets_all(&every);
	pset_of(rule, &in.set);
	*exact = true;
	if (!accept_addresses(asked, &in))
		return 0;
	in.all.tcp_flags = in.set.tcp_flags;
	*exact = narrow_opaque(opaques, rule, RL_MATCH_PAYLOAD, &in.all);
	if (!accept_sets(asked, opaques, rule, &in.all, exact))
		return 0;
	held = while_held(rule, asked->alarms);
	if (held == HELD_NOT)
		return 0;
	if (held == HELD_UNKNOWN)
		*exact &= narrow_opaque(opaques, rule, OPAQUE_WHILE, &in.all);
	*exact &= narrow_opaque(opaques, rule, RL_MATCH_FILTER, &in.all);
	*exact &= coarsen(&in);
	for (size_t i = 0; !ret && i < product(&in); i++) {
		box = product_at(&in, i);
		if (box_meet(&box, &packets, &box))
			ret = boxes_add(out, &box);
	}
	return ret;
}
