// SPDX-License-Identifier: GPL-2.0-only
/* A rule's boxes are the product of what it accepts in each field. A rule with more than BOXES_MAX
 * (two long lists of ports) has fewer and larger ones instead.
 */
#include "policy/rule_boxes.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/units.h"
#include "policy/level.h"
#include "policy/ranges.h"
#include "policy/while.h"

#define BOXES_MAX 64
#define CUBES_MAX 16 /* `not flags` of eight, and `not syn` */
#define PORTS     (RL_MATCH_SPORT | RL_MATCH_DPORT)
#define TCP_FLAGS (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)

static const struct {
	enum dimension dimension;
	enum rl_match_flag flag;
} axes[] = {
	{PROTO, RL_MATCH_PROTO},    {SPORT, RL_MATCH_SPORT}, {DPORT, RL_MATCH_DPORT},
	{LENGTH, RL_MATCH_LENGTH},  {TTL, RL_MATCH_TTL},     {DSCP, RL_MATCH_DSCP},
	{ICMP, RL_MATCH_ICMP_TYPE},
};
#define AXES (sizeof(axes) / sizeof(axes[0]))

struct cube {
	uint64_t care, bits;
};

/* The values that the rule accepts, field by field. */
struct accepted {
	struct value_range range[AXES][CONDITION_RANGES_MAX];
	struct {
		u128 first, last;
	} peer[2];
	struct cube cube[CUBES_MAX]; /* of TCP flags */
	/* of range[], then of peer and of cube */
	uint32_t count[AXES + 2];
	struct box all; /* the rest */
};
#define PEERS (AXES)
#define CUBES (AXES + 1)

/* ---- the packets asked about */

static bool is_ipv4(const struct asked *asked)
{
	return prefix_is_ipv4(asked->addr, 128);
}

static void prefix_range(const uint8_t addr[16], uint8_t len, u128 *first, u128 *last)
{
	*first = 0;
	for (int i = 0; i < 16; i++)
		*first = *first << 8 | addr[i];
	*last = *first + (len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0);
}

void box_narrow_prefix(struct box *box, const uint8_t addr[16], uint8_t len)
{
	u128 first, last;

	prefix_range(addr, len, &first, &last);
	box_narrow_peer(box, first, last);
}

/* The segments that a connection needs: a rule on others does not stop it. A tunnel needs packets
 * as large as these. */
static void narrow_flow(const struct asked *asked, struct box *box)
{
	const struct flow *flow = asked->flow;
	uint8_t proto = flow->proto ? flow->proto : IPPROTO_TCP;

	box_narrow(box, PROTO, proto, proto);
	box_narrow(box, SHAPE, SHAPE_WHOLE, SHAPE_WHOLE);
	box_narrow(box, LENGTH, is_ipv4(asked) ? 40 : 60, UINT32_MAX);
	box_narrow(box, TTL, 2, UINT8_MAX);
	if (!flow->proto)
		box_narrow_bits(box, BIT_TCP(0xff & ~(TH_SYN | TH_ACK | TH_PUSH)), 0);
	/* Any port of the client: the next connection uses another one. */
	if (flow->answers && flow->sport)
		box_narrow(box, SPORT, flow->sport, flow->sport);
	else if (!flow->answers && flow->dport)
		box_narrow(box, DPORT, flow->dport, flow->dport);
	if (asked->by_dest || flow->dst_known)
		box_narrow_prefix(box, asked->by_dest ? flow->src : flow->dst, 128);
}

struct box packets_all(const struct asked *asked)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
	struct box box = {
		.peer_last = ~(u128)0,
		.first = {[LENGTH] = is_ipv4(asked) ? 20 : 40},
		.last = {[PROTO] = UINT8_MAX,
			 [SHAPE] = SHAPE_LATER,
			 [SPORT] = UINT16_MAX,
			 [DPORT] = UINT16_MAX,
			 [LENGTH] = UINT16_MAX + (is_ipv4(asked) ? 0 : 40),
			 [TTL] = UINT8_MAX,
			 [DSCP] = 63,
			 [ICMP] = UINT16_MAX},
	};

	if (is_ipv4(asked))
		box_narrow_prefix(&box, mapped, RL_MAPPED_BITS);
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

static bool opaque_negated(const struct rule *rule, unsigned int flag)
{
	return flag == OPAQUE_WHILE ? rule->extra->alarm_not : !match_wants(&rule->match, flag);
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

/* False: there are too many to tell this one apart. */
static bool narrow_opaque(const struct opaques *opaques, const struct rule *rule, unsigned int flag,
			  struct box *box)
{
	size_t number;

	if (!opaque_stated(rule, flag))
		return true;
	number = opaque_find(opaques, rule->extra, flag);
	if (number == OPAQUE_MAX)
		return false;
	box_narrow_bits(box, BIT_OPAQUE(number) * 3,
			BIT_OPAQUE(number) << opaque_negated(rule, flag));
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

/* Applies a match of a set. False: no packet matches; *exact becomes false if that is not known of
 * each. */
static bool accept_set(const struct asked *asked, const struct opaques *opaques,
		       const struct rule *rule, enum rl_match_flag flag, struct box *box,
		       bool *exact)
{
	const char *name = flag == RL_MATCH_SRC ? rule->extra->src_set : rule->extra->dst_set;
	const uint8_t *addr = address_asked(asked, flag);
	int len = addr ? set_member_len(asked->members, name, addr) : SET_UNKNOWN;

	if (len != SET_UNKNOWN)
		return (len != SET_NO_MEMBER) == match_wants(&rule->match, flag);
	*exact &= narrow_opaque(opaques, rule, flag, box);
	return true;
}

/* The same for both addresses. */
static bool accept_sets(const struct asked *asked, const struct opaques *opaques,
			const struct rule *rule, struct box *box, bool *exact)
{
	const enum rl_match_flag flags[] = {RL_MATCH_SRC, RL_MATCH_DST};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (match_names_set(&rule->match, flags[i]) &&
		    !accept_set(asked, opaques, rule, flags[i], box, exact))
			return false;
	return true;
}

/* Applies `while`, as accept_set() does. */
static bool accept_while(const struct asked *asked, const struct opaques *opaques,
			 const struct rule *rule, struct box *box, bool *exact)
{
	enum held held = while_held(rule, asked->alarms);

	if (held == HELD_UNKNOWN)
		*exact &= narrow_opaque(opaques, rule, OPAQUE_WHILE, box);
	return held != HELD_NOT;
}

/* Applies the matches of the lookup address and of its peer, but for sets. False: no packet
 * matches. */
static bool accept_addresses(const struct asked *asked, const struct match *match,
			     struct accepted *out)
{
	enum rl_match_flag own = asked->by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
	enum rl_match_flag other = asked->by_dest ? RL_MATCH_SRC : RL_MATCH_DST;
	const uint8_t *own_addr = asked->by_dest ? match->dst : match->src;
	const uint8_t *addr = asked->by_dest ? match->src : match->dst;
	uint8_t own_len = asked->by_dest ? match->dst_len : match->src_len;
	uint8_t len = asked->by_dest ? match->src_len : match->dst_len;
	bool own_is_prefix = match->flags & own && !match_names_set(match, own);
	u128 first, last, most = ~(u128)0;

	out->count[PEERS] = 1;
	out->peer[0].first = 0;
	out->peer[0].last = most;
	if (own_is_prefix &&
	    prefix_contains(own_addr, own_len, asked->addr) != match_wants(match, own))
		return false;
	if (!(match->flags & other) || match_names_set(match, other))
		return true;
	if (prefix_is_ipv4(addr, len) != is_ipv4(asked))
		return !match_wants(match, other);
	prefix_range(addr, len, &first, &last);
	if (match_wants(match, other)) {
		out->peer[0].first = first;
		out->peer[0].last = last;
		return true;
	}
	out->count[PEERS] = 0;
	if (first) {
		out->peer[0].last = first - 1;
		out->count[PEERS]++;
	}
	if (last < most) {
		out->peer[out->count[PEERS]].first = last + 1;
		out->peer[out->count[PEERS]++].last = most;
	}
	return out->count[PEERS];
}

static bool proto_has(uint8_t proto, unsigned int flags)
{
	bool has_ports = proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;

	return (has_ports || !(flags & PORTS)) &&
	       (proto != IPPROTO_SCTP || !(flags & RL_MATCH_PAYLOAD)) &&
	       (proto == IPPROTO_TCP || !(flags & TCP_FLAGS));
}

/* Ports, flags and payload belong to few protocols. */
static void accept_protocols(const struct rule *rule, struct value_range *ranges, uint32_t *count)
{
	static const uint8_t known[] = {IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6,
					IPPROTO_SCTP};
	struct value_range stated[CONDITION_RANGES_MAX];
	uint32_t stated_count = *count;

	if (!(rule->match.flags & (PORTS | TCP_FLAGS | RL_MATCH_PAYLOAD)))
		return;
	memcpy(stated, ranges, sizeof(stated));
	*count = 0;
	for (size_t i = 0; i < sizeof(known); i++)
		if (proto_has(known[i], rule->match.flags) &&
		    ranges_hold(stated, stated_count, known[i]))
			ranges[(*count)++] = (struct value_range){known[i], known[i]};
}

static void accept_shape(const struct match *match, struct box *box)
{
	if (match->flags &
	    (PORTS | RL_MATCH_SYN | RL_MATCH_TCP_FLAGS | RL_MATCH_ICMP_TYPE | RL_MATCH_PAYLOAD))
		box_narrow(box, SHAPE, SHAPE_WHOLE, SHAPE_FIRST);
	if (match_wants(match, RL_MATCH_FRAGMENT))
		box_narrow(box, SHAPE, SHAPE_FIRST, SHAPE_LATER);
	else if (match->flags & RL_MATCH_FRAGMENT)
		box_narrow(box, SHAPE, SHAPE_WHOLE, SHAPE_WHOLE);
	if (match->flags & RL_MATCH_NEW_SOURCE)
		box_narrow_bits(box, BIT_KNOWN,
				match_wants(match, RL_MATCH_NEW_SOURCE) ? 0 : BIT_KNOWN);
	if (match->flags & RL_MATCH_ESTABLISHED)
		box_narrow_bits(box, BIT_PROVEN,
				match_wants(match, RL_MATCH_ESTABLISHED) ? BIT_PROVEN : 0);
}

/* ---- TCP flags */

/* Among those that the cube leaves open, the ones whose flags of `mask` are, or are not, `flags`:
 * the first that differs makes a cube. */
static uint32_t cube_split(struct cube cube, uint8_t mask, uint8_t flags, bool negated,
			   struct cube out[CUBES_MAX])
{
	uint32_t count = 0;

	for (uint8_t left = mask; left; left &= left - 1) {
		uint8_t bit = left & -left;
		struct cube other = cube;

		if (negated && !(cube.care & bit && !((cube.bits ^ flags) & bit))) {
			other.care |= bit;
			other.bits = (other.bits & ~(uint64_t)bit) | (bit & ~flags);
			out[count++] = other;
		}
		if (cube.care & bit && (cube.bits ^ flags) & bit)
			return count;
		cube.care |= bit;
		cube.bits |= bit & flags;
	}
	if (!negated)
		out[count++] = cube;
	return count;
}

static void accept_flags(const struct rule *rule, enum rl_match_flag flag, uint8_t mask,
			 uint8_t flags, struct accepted *out)
{
	struct cube before[CUBES_MAX];
	uint32_t count = out->count[CUBES];

	if (!(rule->match.flags & flag))
		return;
	memcpy(before, out->cube, sizeof(before));
	out->count[CUBES] = 0;
	for (uint32_t i = 0; i < count; i++)
		out->count[CUBES] +=
			cube_split(before[i], mask, flags, !match_wants(&rule->match, flag),
				   &out->cube[out->count[CUBES]]);
}

static void accept_all_flags(const struct rule *rule, struct accepted *out)
{
	out->cube[0] = (struct cube){0};
	out->count[CUBES] = 1;
	accept_flags(rule, RL_MATCH_SYN, TH_SYN | TH_ACK, TH_SYN, out);
	if (rule->extra)
		accept_flags(rule, RL_MATCH_TCP_FLAGS,
			     rule->extra->number[RL_NUMBER_TCP_FLAGS].last,
			     rule->extra->number[RL_NUMBER_TCP_FLAGS].first, out);
}

/* ---- the product */

static size_t product(const struct accepted *in)
{
	size_t boxes = 1;

	for (size_t i = 0; i < AXES + 2; i++)
		boxes *= in->count[i];
	return boxes;
}

/* Leaves fewer and larger boxes, if there are too many. */
static bool coarsen(struct accepted *in)
{
	bool exact = true;

	for (; product(in) > BOXES_MAX; exact = false) {
		size_t most = 0;

		for (size_t i = 1; i < AXES + 2; i++)
			most = in->count[i] > in->count[most] ? i : most;
		if (most == CUBES)
			in->cube[0] = (struct cube){0};
		else if (most == PEERS)
			in->peer[0].last = in->peer[1].last;
		else
			in->range[most][0].last = in->range[most][in->count[most] - 1].last;
		in->count[most] = 1;
	}
	return exact;
}

/* Box number `index` of the product. */
static struct box product_at(const struct accepted *in, size_t index)
{
	struct box box = in->all;
	const struct cube *cube;

	for (size_t i = 0; i < AXES; i++) {
		const struct value_range *range = &in->range[i][index % in->count[i]];

		box_narrow(&box, axes[i].dimension, range->first, range->last);
		index /= in->count[i];
	}
	box_narrow_peer(&box, in->peer[index % in->count[PEERS]].first,
			in->peer[index % in->count[PEERS]].last);
	cube = &in->cube[index / in->count[PEERS]];
	box_narrow_bits(&box, cube->care, cube->bits);
	return box;
}

int rule_boxes(const struct asked *asked, const struct opaques *opaques, const struct rule *rule,
	       struct boxes *out, bool *exact)
{
	struct asked every = *asked;
	struct box packets = packets_all(asked), box;
	struct accepted in;
	int ret = 0;

	every.flow = NULL;
	in.all = packets_all(&every);
	*exact = true;
	if (!accept_addresses(asked, &rule->match, &in))
		return 0;
	for (size_t i = 0; i < AXES; i++)
		in.count[i] = condition_ranges(rule, axes[i].flag, in.range[i]);
	accept_protocols(rule, in.range[0], &in.count[0]);
	accept_shape(&rule->match, &in.all);
	accept_all_flags(rule, &in);
	*exact = narrow_opaque(opaques, rule, RL_MATCH_PAYLOAD, &in.all);
	if (!accept_sets(asked, opaques, rule, &in.all, exact) ||
	    !accept_while(asked, opaques, rule, &in.all, exact))
		return 0;
	*exact &= narrow_opaque(opaques, rule, RL_MATCH_FILTER, &in.all);
	*exact &= coarsen(&in);
	for (size_t i = 0; !ret && i < product(&in); i++) {
		box = product_at(&in, i);
		if (box_meet(&box, &packets, &box))
			ret = boxes_add(out, &box);
	}
	return ret;
}
