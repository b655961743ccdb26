// SPDX-License-Identifier: GPL-2.0-only
#include "policy/packets/pset.h"

#include <string.h>

#include "base/units.h"
#include "policy/field.h"

uint32_t dim_last(enum dim dim)
{
	static const uint32_t last[DIM_NUMBERS] = {
		[DIM_PROTO] = UINT8_MAX,  [DIM_SHAPE] = SHAPE_LATER, [DIM_SPORT] = UINT16_MAX,
		[DIM_DPORT] = UINT16_MAX, [DIM_KNOWN] = 1,           [DIM_PROVEN] = 1,
		[DIM_FAMILY] = 1,
	};

	return dim < DIM_NUMBERS ? last[dim] : number_fields[dim - DIM_NUMBERS]->max;
}

/* Only for the protocol, ports and numbers. */
static enum dim dim_of(enum rl_match_flag flag)
{
	switch (flag) {
	case RL_MATCH_PROTO:
		return DIM_PROTO;
	case RL_MATCH_SPORT:
		return DIM_SPORT;
	case RL_MATCH_DPORT:
		return DIM_DPORT;
	default:
		return DIM_NUMBERS + all_fields[field_of(flag)].number;
	}
}

/* ---- ranges */

static void range_add(struct ranges *set, uint32_t first, uint32_t last)
{
	if (set->count < RANGES_MAX)
		set->range[set->count++] = (struct value_range){first, last};
	else
		set->range[RANGES_MAX - 1].last = last;
}

bool ranges_meet(const struct ranges *a, const struct ranges *b, struct ranges *out)
{
	uint32_t i = 0, j = 0;

	out->count = 0;
	while (i < a->count && j < b->count) {
		const struct value_range *x = &a->range[i], *y = &b->range[j];
		uint32_t first = x->first > y->first ? x->first : y->first;
		uint32_t last = x->last < y->last ? x->last : y->last;

		if (first <= last)
			range_add(out, first, last);
		if (x->last < y->last)
			i++;
		else
			j++;
	}
	return out->count > 0;
}

void ranges_invert(struct ranges *set, uint32_t last)
{
	struct ranges others = {.count = 0};
	uint32_t next = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		if (set->range[i].first > next)
			range_add(&others, next, set->range[i].first - 1);
		next = set->range[i].last + 1;
	}
	if (next <= last)
		range_add(&others, next, last);
	*set = others;
}

bool ranges_within(const struct ranges *inner, const struct ranges *outer)
{
	for (uint32_t i = 0, at = 0; i < inner->count; i++) {
		while (at < outer->count && outer->range[at].last < inner->range[i].first)
			at++;
		if (at == outer->count || outer->range[at].first > inner->range[i].first ||
		    outer->range[at].last < inner->range[i].last)
			return false;
	}
	return true;
}

bool ranges_hold(const struct ranges *ranges, uint32_t value)
{
	for (uint32_t i = 0; i < ranges->count; i++)
		if (value >= ranges->range[i].first && value <= ranges->range[i].last)
			return true;
	return false;
}

static void dim_keep(struct pset *set, enum dim dim, const struct ranges *kept)
{
	struct ranges before = set->dim[dim];

	ranges_meet(&before, kept, &set->dim[dim]);
}

void pset_narrow(struct pset *set, enum dim dim, uint32_t first, uint32_t last)
{
	dim_keep(set, dim, &(struct ranges){.count = 1, .range = {{first, last}}});
}

/* ---- sets */

void pset_all(struct pset *out)
{
	static const uint8_t every[16];

	for (enum dim dim = 0; dim < DIMS; dim++) {
		out->dim[dim].count = 1;
		out->dim[dim].range[0] = (struct value_range){0, dim_last(dim)};
	}
	memset(&out->tcp_flags, 0xff, sizeof(out->tcp_flags));
	out->src = out->dst = addresses_of(every, 0);
}

bool pset_is_empty(const struct pset *set)
{
	for (enum dim dim = 0; dim < DIMS; dim++)
		if (!set->dim[dim].count)
			return true;
	return false;
}

bool pset_meet(const struct pset *a, const struct pset *b, struct pset *out)
{
	uint64_t flags = 0;

	for (enum dim dim = 0; dim < DIMS; dim++)
		if (!ranges_meet(&a->dim[dim], &b->dim[dim], &out->dim[dim]))
			return false;
	for (int i = 0; i < 4; i++)
		flags |= out->tcp_flags.word[i] = a->tcp_flags.word[i] & b->tcp_flags.word[i];
	return flags && addresses_meet(&a->src, &b->src, &out->src) &&
	       addresses_meet(&a->dst, &b->dst, &out->dst);
}

static bool pset_within(const struct pset *inner, const struct pset *outer)
{
	bool only_ipv6 = !ranges_hold(&inner->dim[DIM_FAMILY], 0);

	for (enum dim dim = 0; dim < DIMS; dim++)
		if (!ranges_within(&inner->dim[dim], &outer->dim[dim]))
			return false;
	for (int i = 0; i < 4; i++)
		if (inner->tcp_flags.word[i] & ~outer->tcp_flags.word[i])
			return false;
	return addresses_within(&inner->src, &outer->src, only_ipv6) &&
	       addresses_within(&inner->dst, &outer->dst, only_ipv6);
}

/* A prefix shorter than that of mapped addresses is of IPv6. */
void pset_narrow_prefix(struct pset *set, bool src, const uint8_t addr[16], uint8_t len)
{
	struct addresses *end = src ? &set->src : &set->dst, own = addresses_of(addr, len);
	uint32_t family = prefix_is_ipv4(addr, len) ? 0 : 1;

	addresses_meet(end, &own, end);
	pset_narrow(set, DIM_FAMILY, family, family);
}

/* ---- of a rule */

void rule_values(const struct rule *rule, enum rl_match_flag flag, struct ranges *out)
{
	enum dim dim = dim_of(flag);
	struct rl_port_range ports[RL_PORT_RANGES_MAX];
	struct rl_numbers numbers = {0, 0};
	uint32_t port_count;

	out->count = 0;
	if (!(rule->match.flags & flag)) {
		range_add(out, 0, dim_last(dim));
		return;
	}
	port_count = dim == DIM_SPORT || dim == DIM_DPORT ? rule_ports(rule, flag, ports) : 0;
	if (dim >= DIM_NUMBERS)
		numbers = rule->extra->number[dim - DIM_NUMBERS];
	if (dim == DIM_PROTO)
		range_add(out, rule->match.proto, rule->match.proto);
	else if (port_count)
		for (uint32_t i = 0; i < port_count; i++)
			range_add(out, ports[i].first, ports[i].last);
	else
		range_add(out, numbers.first, numbers.last);
	if (rule->match.negated & flag)
		ranges_invert(out, dim_last(dim));
}

/* The packet has a header after that of IP, of one of these protocols. */
static void header_narrow(struct pset *set, enum rl_header_flag has)
{
	struct ranges kept = {.count = 0};
	const uint8_t *protos;
	size_t count;

	if (has == RL_HAS_IP)
		return;
	pset_narrow(set, DIM_SHAPE, SHAPE_WHOLE, SHAPE_FIRST);
	count = header_protocols(has, &protos);
	for (size_t i = 0; i < count; i++)
		range_add(&kept, protos[i], protos[i]);
	dim_keep(set, DIM_PROTO, &kept);
}

void bytes_narrow(struct bytes *set, struct rl_numbers bits, bool negated)
{
	for (int i = 0; i < 256; i++)
		if (((i & bits.last) == bits.first) == negated)
			set->word[i / 64] &= ~(1ull << i % 64);
}

static void end_narrow(struct pset *set, const struct rule *rule, enum rl_match_flag flag)
{
	bool src = flag == RL_MATCH_SRC;
	const uint8_t *addr = src ? rule->match.src : rule->match.dst;
	uint8_t len = src ? rule->match.src_len : rule->match.dst_len;

	if (len == RL_LEN_SET) /* any address may be a member */
		return;
	if (rule->match.negated & flag)
		addresses_leave_out(src ? &set->src : &set->dst, addr, len);
	else
		pset_narrow_prefix(set, src, addr, len);
}

/* A SYN is never established, nor is a later fragment. */
static void fact_narrow(struct pset *set, enum rl_match_flag flag, bool negated)
{
	switch (flag) {
	case RL_MATCH_SYN:
		return bytes_narrow(&set->tcp_flags, SYN_FLAGS, negated);
	case RL_MATCH_FRAGMENT:
		return pset_narrow(set, DIM_SHAPE, negated ? SHAPE_WHOLE : SHAPE_FIRST,
				   negated ? SHAPE_WHOLE : SHAPE_LATER);
	case RL_MATCH_NEW_SOURCE:
		return pset_narrow(set, DIM_KNOWN, negated, negated);
	case RL_MATCH_ESTABLISHED:
		pset_narrow(set, DIM_PROVEN, !negated, !negated);
		if (negated)
			return;
		header_narrow(set, RL_HAS_PAYLOAD);
		bytes_narrow(&set->tcp_flags, SYN_FLAGS, true);
		return;
	default:
		return;
	}
}

static void field_narrow(struct pset *set, const struct rule *rule, enum rl_match_flag flag)
{
	const struct field *field = &all_fields[field_of(flag)];
	bool negated = rule->match.negated & flag;
	struct ranges values;

	header_narrow(set, field->has);
	switch (field->kind) {
	case FIELD_ADDRESS:
		return end_narrow(set, rule, flag);
	case FIELD_FACT:
		return fact_narrow(set, flag, negated);
	case FIELD_FLAGS:
		return bytes_narrow(&set->tcp_flags, rule->extra->number[field->number], negated);
	case FIELD_PAYLOAD:
	case FIELD_FILTER:
		return;
	default:
		rule_values(rule, flag, &values);
		dim_keep(set, dim_of(flag), &values);
	}
}

void pset_of_field(const struct rule *rule, enum rl_match_flag flag, struct pset *out)
{
	pset_all(out);
	field_narrow(out, rule, flag);
}

void pset_of(const struct rule *rule, struct pset *out)
{
	pset_all(out);
	fields_for_each (flag, rule->match.flags)
		field_narrow(out, rule, flag);
}

/* ---- a packet */

static bool is_all(const struct ranges *ranges, enum dim dim)
{
	return !ranges->range[0].first && ranges->range[0].last == dim_last(dim);
}

static void packet_end(struct match *packet, const struct addresses *set, bool src)
{
	if (!set->len)
		return;
	packet->flags |= src ? RL_MATCH_SRC : RL_MATCH_DST;
	memcpy(src ? packet->src : packet->dst, set->addr, sizeof(set->addr));
	*(src ? &packet->src_len : &packet->dst_len) = set->len;
}

struct match pset_packet(const struct pset *set)
{
	const struct ranges *sport = &set->dim[DIM_SPORT], *dport = &set->dim[DIM_DPORT];
	struct match packet = {0};

	if (!is_all(&set->dim[DIM_PROTO], DIM_PROTO)) {
		packet.flags = RL_MATCH_PROTO;
		packet.proto = set->dim[DIM_PROTO].range[0].first;
	}
	if (!is_all(sport, DIM_SPORT)) {
		packet.flags |= RL_MATCH_SPORT;
		packet.sport_first = packet.sport_last = sport->range[0].first;
	}
	if (!is_all(dport, DIM_DPORT)) {
		packet.flags |= RL_MATCH_DPORT;
		packet.dport_first = packet.dport_last = dport->range[0].first;
	}
	packet_end(&packet, &set->src, true);
	packet_end(&packet, &set->dst, false);
	if (set->dim[DIM_SHAPE].range[0].first > SHAPE_WHOLE)
		packet.flags |= RL_MATCH_FRAGMENT;
	if (!set->dim[DIM_KNOWN].range[0].last)
		packet.flags |= RL_MATCH_NEW_SOURCE;
	if (!is_all(&set->dim[DIM_PROVEN], DIM_PROVEN))
		packet.flags |= RL_MATCH_ESTABLISHED;
	if (!set->dim[DIM_PROVEN].range[0].last)
		packet.negated |= RL_MATCH_ESTABLISHED;
	return packet;
}

/* ---- two rules */

bool rule_takes_tcp_flags(const struct rule *rule, uint8_t flags)
{
	const struct match *match = &rule->match;
	struct rl_numbers own;

	if (match->flags & RL_MATCH_SYN &&
	    ((flags & SYN_FLAGS.last) == SYN_FLAGS.first) != match_wants(match, RL_MATCH_SYN))
		return false;
	if (!(match->flags & RL_MATCH_TCP_FLAGS))
		return true;
	own = rule->extra->number[RL_NUMBER_TCP_FLAGS];
	return ((flags & own.last) == own.first) == match_wants(match, RL_MATCH_TCP_FLAGS);
}

bool rule_is_of_syns(const struct rule *rule)
{
	if (!(rule->match.flags & (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)))
		return false;
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++)
		if ((flags & SYN_FLAGS.last) != SYN_FLAGS.first &&
		    rule_takes_tcp_flags(rule, flags))
			return false;
	return true;
}

bool same_opaque(const struct rl_extra *a, const struct rl_extra *b, enum rl_match_flag flag)
{
	if (flag == RL_MATCH_FILTER)
		return !strcmp(a->filter, b->filter);
	if (flag == RL_MATCH_SRC)
		return !strcmp(a->src_set, b->src_set);
	if (flag == RL_MATCH_DST)
		return !strcmp(a->dst_set, b->dst_set);
	return a->payload_at == b->payload_at && a->payload_len == b->payload_len &&
	       !memcmp(a->payload, b->payload, sizeof(a->payload)) &&
	       !memcmp(a->payload_mask, b->payload_mask, sizeof(a->payload_mask));
}

/* Conditions that a set of packets does not have. */
static uint32_t opaque_flags(const struct match *match)
{
	uint32_t flags = match->flags & (RL_MATCH_PAYLOAD | RL_MATCH_FILTER);

	flags |= match_names_set(match, RL_MATCH_SRC) ? RL_MATCH_SRC : 0;
	return flags | (match_names_set(match, RL_MATCH_DST) ? RL_MATCH_DST : 0);
}

static bool both_want(const struct rule *a, const struct rule *b, enum rl_match_flag flag)
{
	return match_wants(&a->match, flag) && match_wants(&b->match, flag);
}

bool match_differs(const struct rule *a, const struct rule *b)
{
	const struct match *m = &a->match, *n = &b->match;

	if (both_want(a, b, RL_MATCH_PROTO) && m->proto != n->proto)
		return true;
	if (both_want(a, b, RL_MATCH_SPORT) &&
	    (m->sport_first > n->sport_last || n->sport_first > m->sport_last))
		return true;
	return both_want(a, b, RL_MATCH_DPORT) &&
	       (m->dport_first > n->dport_last || n->dport_first > m->dport_last);
}

/* Is it plain that the outer rule leaves out packets of the inner one? Policies have many pairs. */
static bool is_wider(const struct rule *inner, const struct rule *outer)
{
	/* No other field narrows the dimensions of these. */
	const uint32_t alone = RL_MATCH_NEW_SOURCE | RL_MATCH_ESTABLISHED |
			       ((RL_MATCH_SRC | RL_MATCH_DST) & ~outer->match.negated);

	return !inner->match.flags || outer->match.flags & alone & ~inner->match.flags ||
	       match_differs(inner, outer);
}

bool match_within(const struct rule *inner, const struct rule *outer)
{
	uint32_t opaque = opaque_flags(&inner->match);
	struct pset in, out;
	bool off, own_off;
	const char *alarm = rule_while(outer, &off), *own = rule_while(inner, &own_off);

	if (alarm[0] && (strcmp(alarm, own) != 0 || off != own_off))
		return false;
	if (!outer->match.flags)
		return true;
	fields_for_each (flag, opaque_flags(&outer->match))
		if (!(opaque & flag) || !same_opaque(inner->extra, outer->extra, flag) ||
		    match_wants(&inner->match, flag) != match_wants(&outer->match, flag))
			return false;
	if (is_wider(inner, outer))
		return false;
	pset_of(inner, &in);
	pset_of(outer, &out);
	return pset_within(&in, &out);
}
