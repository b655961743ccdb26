// SPDX-License-Identifier: GPL-2.0-only
/* A condition that a packet must have known implies others: ports that it is no later fragment and
 * of a protocol with ports. With these, what two rules have in common in every dimension is what
 * they have in common. */
#include "compile/region.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/units.h"
#include "policy/proof.h"

/* ---- sets of numbers */

static void piece_add(struct numbers *set, uint16_t first, uint16_t last)
{
	if (set->count < PIECES_MAX)
		set->piece[set->count++] = (struct piece){first, last};
	else
		set->piece[PIECES_MAX - 1].last = last;
}

static bool numbers_common(const struct numbers *a, const struct numbers *b, struct numbers *out)
{
	uint32_t i = 0, j = 0;

	memset(out, 0, sizeof(*out));
	while (i < a->count && j < b->count) {
		const struct piece *x = &a->piece[i], *y = &b->piece[j];
		uint16_t first = x->first > y->first ? x->first : y->first;
		uint16_t last = x->last < y->last ? x->last : y->last;

		if (first <= last)
			piece_add(out, first, last);
		if (x->last < y->last)
			i++;
		else
			j++;
	}
	return out->count > 0;
}

/* All others. */
static void numbers_invert(struct numbers *set)
{
	struct numbers others;
	uint32_t next = 0;

	memset(&others, 0, sizeof(others));
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->piece[i].first > next)
			piece_add(&others, next, set->piece[i].first - 1);
		next = set->piece[i].last + 1u;
	}
	if (next <= UINT16_MAX)
		piece_add(&others, next, UINT16_MAX);
	*set = others;
}

static bool bytes_common(const struct bytes *a, const struct bytes *b, struct bytes *out)
{
	uint64_t all = 0;

	for (int i = 0; i < 4; i++) {
		out->word[i] = a->word[i] & b->word[i];
		all |= out->word[i];
	}
	return all;
}

/* ---- sets of addresses */

/* As numbers: families are told apart beside them. */
static bool holds(const uint8_t addr[16], uint8_t len, const uint8_t inner[16], uint8_t inner_len)
{
	uint8_t masked[16];

	prefix_mask(masked, inner, len);
	return len <= inner_len && !memcmp(masked, addr, sizeof(masked));
}

/* Do the prefixes that are taken out leave nothing of this one? An IPv6 prefix around the mapped
 * addresses takes none of them. */
static bool is_covered(const struct addresses *set, const uint8_t addr[16], uint8_t len)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
	bool inside = false, around = holds(addr, len, mapped, RL_MAPPED_BITS - 1);
	uint8_t half[16];

	for (uint8_t i = 0; i < set->less_count; i++) {
		bool ipv4 = prefix_is_ipv4(set->less[i], set->less_len[i]);

		if (!ipv4 && holds(mapped, RL_MAPPED_BITS, addr, len))
			continue;
		if ((ipv4 || !around) && holds(set->less[i], set->less_len[i], addr, len))
			return true;
		inside |= around || holds(addr, len, set->less[i], set->less_len[i]);
	}
	if (!inside || len == 128)
		return false;
	memcpy(half, addr, sizeof(half));
	half[len / 8] ^= 0x80 >> len % 8;
	return is_covered(set, addr, len + 1) && is_covered(set, half, len + 1);
}

static void less_add(struct addresses *set, const uint8_t *addr, uint8_t len)
{
	for (uint8_t i = 0; i < set->less_count; i++)
		if (set->less_len[i] == len && !memcmp(set->less[i], addr, 16))
			return;
	if (set->less_count == REGION_RULES)
		return;
	set->less[set->less_count] = addr;
	set->less_len[set->less_count++] = len;
}

static bool addresses_common(const struct addresses *a, const struct addresses *b,
			     struct addresses *out)
{
	const struct addresses *longer = a->len >= b->len ? a : b,
			       *other = a->len >= b->len ? b : a;

	if (!holds(other->addr, other->len, longer->addr, longer->len))
		return false;
	*out = *a;
	memcpy(out->addr, longer->addr, sizeof(out->addr));
	out->len = longer->len;
	for (uint8_t i = 0; i < b->less_count; i++)
		less_add(out, b->less[i], b->less_len[i]);
	return !out->less_count || !is_covered(out, out->addr, out->len);
}

/* ---- bytes of the payload, and alarms */

static bool alarms_agree(const struct rl_extra *a, const struct rl_extra *b)
{
	return a->alarm_not == b->alarm_not || strcmp(a->alarm, b->alarm) != 0;
}

static bool payloads_agree(const struct rl_extra *a, const struct rl_extra *b)
{
	if (!alarms_agree(a, b))
		return false;
	for (int i = 0; i < a->payload_len; i++) {
		int j = a->payload_at + i - b->payload_at;

		if (j >= 0 && j < b->payload_len &&
		    (a->payload[i] ^ b->payload[j]) & a->payload_mask[i] & b->payload_mask[j])
			return false;
	}
	return true;
}

static bool payload_add(struct region *region, const struct rl_extra *extra)
{
	for (uint32_t i = 0; i < region->payload_count; i++) {
		if (region->payloads[i] == extra)
			return true;
		if (!payloads_agree(region->payloads[i], extra))
			return false;
	}
	if (region->payload_count < REGION_RULES)
		region->payloads[region->payload_count++] = extra;
	return true;
}

/* ---- regions */

bool region_payloads_agree(const struct region *a, const struct region *b)
{
	for (uint32_t i = 0; i < a->payload_count; i++)
		for (uint32_t j = 0; j < b->payload_count; j++)
			if (!payloads_agree(a->payloads[i], b->payloads[j]))
				return false;
	return true;
}

void region_narrow_while(struct region *region, uint32_t alarm, bool is_off)
{
	if (is_off)
		region->alarms_on &= ~(1u << alarm);
	else
		region->alarms_off &= ~(1u << alarm);
}

void region_all(struct region *out)
{
	memset(out, 0, sizeof(*out));
	memset(&out->protos, 0xff, sizeof(out->protos));
	memset(&out->tcp_flags, 0xff, sizeof(out->tcp_flags));
	out->shapes = SHAPES;
	out->known = IS_NEW | IS_KNOWN;
	out->proven = IS_PROVEN | IS_UNPROVEN;
	out->families = FAMILIES;
	out->alarms_on = out->alarms_off = ~0u;
	for (int i = 0; i < NUMBERS; i++)
		piece_add(&out->numbers[i], 0, UINT16_MAX);
}

bool region_is_empty(const struct region *region)
{
	for (int i = 0; i < NUMBERS; i++)
		if (!region->numbers[i].count)
			return true;
	return false;
}

bool region_common(const struct region *a, const struct region *b, struct region *out)
{
	memset(out, 0, sizeof(*out));
	out->shapes = a->shapes & b->shapes;
	out->known = a->known & b->known;
	out->proven = a->proven & b->proven;
	out->families = a->families & b->families;
	out->alarms_on = a->alarms_on & b->alarms_on;
	out->alarms_off = a->alarms_off & b->alarms_off;
	if (~(out->alarms_on | out->alarms_off) || !out->shapes || !out->known || !out->proven ||
	    !out->families || !bytes_common(&a->protos, &b->protos, &out->protos) ||
	    !bytes_common(&a->tcp_flags, &b->tcp_flags, &out->tcp_flags))
		return false;
	for (int i = 0; i < NUMBERS; i++)
		if (!numbers_common(&a->numbers[i], &b->numbers[i], &out->numbers[i]))
			return false;
	for (int i = 0; i < ENDS; i++)
		if (!addresses_common(&a->ends[i], &b->ends[i], &out->ends[i]))
			return false;
	memcpy(out->payloads, a->payloads, sizeof(out->payloads));
	out->payload_count = a->payload_count;
	for (uint32_t i = 0; i < b->payload_count; i++)
		if (!payload_add(out, b->payloads[i]))
			return false;
	return true;
}

/* ---- of a rule */

static bool is_negated(const struct rule *rule, enum rl_match_flag flag)
{
	return rule->match.negated & flag;
}

static bool states(const struct rule *rule, enum rl_match_flag flag)
{
	return rule->match.flags & flag;
}

static void protos_keep(struct region *region, const uint8_t *protos, size_t count)
{
	struct bytes kept = {0};

	for (size_t i = 0; i < count; i++)
		kept.word[protos[i] / 64] |= 1ull << protos[i] % 64;
	bytes_common(&region->protos, &kept, &region->protos);
}

static void narrow_proto(struct region *region, const struct rule *rule)
{
	uint8_t proto = rule->match.proto;

	if (!states(rule, RL_MATCH_PROTO))
		return;
	if (is_negated(rule, RL_MATCH_PROTO))
		region->protos.word[proto / 64] &= ~(1ull << proto % 64);
	else
		protos_keep(region, &proto, 1);
}

/* The numbers of the one range, or all others. */
static void narrow_numbers(struct region *region, const struct rule *rule, enum rl_match_flag flag,
			   enum number number, uint16_t first, uint16_t last)
{
	struct numbers *set = &region->numbers[number];

	if (!states(rule, flag))
		return;
	memset(set, 0, sizeof(*set));
	piece_add(set, first, last);
	if (is_negated(rule, flag))
		numbers_invert(set);
}

static void narrow_ports(struct region *region, const struct rule *rule, enum number port)
{
	static const uint8_t with_ports[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};
	enum rl_match_flag flag = port == SPORT ? RL_MATCH_SPORT : RL_MATCH_DPORT;
	struct rl_port_range ranges[RL_PORT_RANGES_MAX];
	uint32_t count = port == SPORT ? rule_sports(rule, ranges) : rule_dports(rule, ranges);
	struct numbers *set = &region->numbers[port];

	if (!states(rule, flag))
		return;
	memset(set, 0, sizeof(*set));
	for (uint32_t i = 0; i < count; i++)
		piece_add(set, ranges[i].first, ranges[i].last);
	if (is_negated(rule, flag))
		numbers_invert(set);
	region->shapes &= ~SHAPE_LATER;
	protos_keep(region, with_ports, sizeof(with_ports));
}

/* A prefix shorter than that of mapped addresses is of IPv6. */
void region_narrow_prefix(struct region *region, enum end end, const uint8_t addr[16], uint8_t len)
{
	struct addresses *set = &region->ends[end];

	memcpy(set->addr, addr, sizeof(set->addr));
	set->len = len;
	region->families &= prefix_is_ipv4(addr, len) ? FAMILY_4 : FAMILY_6;
}

static void narrow_end(struct region *region, const struct rule *rule, enum end end)
{
	enum rl_match_flag flag = end == SRC ? RL_MATCH_SRC : RL_MATCH_DST;
	const uint8_t *addr = end == SRC ? rule->match.src : rule->match.dst;
	uint8_t len = end == SRC ? rule->match.src_len : rule->match.dst_len;

	if (!states(rule, flag) || len == RL_LEN_SET) /* any address may be a member */
		return;
	if (is_negated(rule, flag))
		less_add(&region->ends[end], addr, len);
	else
		region_narrow_prefix(region, end, addr, len);
}

/* Exactly those of these flags are set, or anything else. */
static void narrow_flags(struct region *region, uint8_t mask, uint8_t flags, bool negated)
{
	static const uint8_t tcp = IPPROTO_TCP;

	for (int i = 0; i < 256; i++)
		if (((i & mask) == flags) == negated)
			region->tcp_flags.word[i / 64] &= ~(1ull << i % 64);
	region->shapes &= ~SHAPE_LATER;
	protos_keep(region, &tcp, 1);
}

static void narrow_fragment(struct region *region, const struct rule *rule)
{
	if (states(rule, RL_MATCH_FRAGMENT))
		region->shapes &= is_negated(rule, RL_MATCH_FRAGMENT) ? SHAPE_WHOLE
								      : SHAPE_FIRST | SHAPE_LATER;
}

/* A SYN is never established, nor is a later fragment. */
static void narrow_proof(struct region *region, const struct rule *rule)
{
	static const uint8_t proven[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6};

	if (states(rule, RL_MATCH_NEW_SOURCE))
		region->known = is_negated(rule, RL_MATCH_NEW_SOURCE) ? IS_KNOWN : IS_NEW;
	if (!states(rule, RL_MATCH_ESTABLISHED))
		return;
	region->proven = is_negated(rule, RL_MATCH_ESTABLISHED) ? IS_UNPROVEN : IS_PROVEN;
	if (is_negated(rule, RL_MATCH_ESTABLISHED))
		return;
	region->shapes &= ~SHAPE_LATER;
	protos_keep(region, proven, sizeof(proven));
	for (int i = 0; i < 256; i++)
		if ((i & (TH_SYN | TH_ACK)) == TH_SYN)
			region->tcp_flags.word[i / 64] &= ~(1ull << i % 64);
}

static void narrow_icmp(struct region *region, const struct rule *rule,
			const struct rl_extra *extra)
{
	static const uint8_t icmp[] = {IPPROTO_ICMP, IPPROTO_ICMPV6};

	if (!states(rule, RL_MATCH_ICMP_TYPE))
		return;
	narrow_numbers(region, rule, RL_MATCH_ICMP_TYPE, ICMP,
		       extra->number[RL_NUMBER_ICMP_TYPE].first,
		       extra->number[RL_NUMBER_ICMP_TYPE].last);
	region->shapes &= ~SHAPE_LATER;
	protos_keep(region, icmp, sizeof(icmp));
}

static void narrow_extra(struct region *region, const struct rule *rule)
{
	static const struct rl_extra zeros; /* none is kept for a condition that is all zero */
	const struct rl_extra *extra = rule->extra ? rule->extra : &zeros;

	narrow_numbers(region, rule, RL_MATCH_LENGTH, LENGTH, extra->number[RL_NUMBER_LENGTH].first,
		       extra->number[RL_NUMBER_LENGTH].last);
	narrow_numbers(region, rule, RL_MATCH_TTL, TTL, extra->number[RL_NUMBER_TTL].first,
		       extra->number[RL_NUMBER_TTL].last);
	narrow_numbers(region, rule, RL_MATCH_DSCP, DSCP, extra->number[RL_NUMBER_DSCP].first,
		       extra->number[RL_NUMBER_DSCP].last);
	narrow_icmp(region, rule, extra);
	if (states(rule, RL_MATCH_TCP_FLAGS))
		narrow_flags(region, extra->number[RL_NUMBER_TCP_FLAGS].last,
			     extra->number[RL_NUMBER_TCP_FLAGS].first,
			     is_negated(rule, RL_MATCH_TCP_FLAGS));
	if ((states(rule, RL_MATCH_PAYLOAD) || extra->alarm[0]) &&
	    !is_negated(rule, RL_MATCH_PAYLOAD))
		payload_add(region, extra);
}

void region_of(const struct rule *rule, struct region *out)
{
	region_all(out);
	narrow_proto(out, rule);
	narrow_ports(out, rule, SPORT);
	narrow_ports(out, rule, DPORT);
	narrow_end(out, rule, SRC);
	narrow_end(out, rule, DST);
	if (states(rule, RL_MATCH_SYN))
		narrow_flags(out, TH_SYN | TH_ACK, TH_SYN, is_negated(rule, RL_MATCH_SYN));
	narrow_fragment(out, rule);
	narrow_proof(out, rule);
	narrow_extra(out, rule);
}

/* ---- a packet */

static uint8_t proto_first(const struct region *region)
{
	int word = 0;

	while (!region->protos.word[word])
		word++;
	return word * 64 + __builtin_ctzll(region->protos.word[word]);
}

static void packet_port(struct match *packet, const struct region *region, enum number port)
{
	const struct piece *piece = &region->numbers[port].piece[0];

	if (piece->first == 0 && piece->last == UINT16_MAX)
		return;
	packet->flags |= port == SPORT ? RL_MATCH_SPORT : RL_MATCH_DPORT;
	if (port == SPORT)
		packet->sport_first = packet->sport_last = piece->first;
	else
		packet->dport_first = packet->dport_last = piece->first;
}

static void packet_end(struct match *packet, const struct region *region, enum end end)
{
	const struct addresses *set = &region->ends[end];

	if (!set->len)
		return;
	packet->flags |= end == SRC ? RL_MATCH_SRC : RL_MATCH_DST;
	memcpy(end == SRC ? packet->src : packet->dst, set->addr, sizeof(set->addr));
	*(end == SRC ? &packet->src_len : &packet->dst_len) = set->len;
}

struct match region_packet(const struct region *region)
{
	struct match packet = {0};

	if (~(region->protos.word[0] & region->protos.word[1] & region->protos.word[2] &
	      region->protos.word[3])) {
		packet.flags = RL_MATCH_PROTO;
		packet.proto = proto_first(region);
	}
	packet_port(&packet, region, SPORT);
	packet_port(&packet, region, DPORT);
	packet_end(&packet, region, SRC);
	packet_end(&packet, region, DST);
	if (!(region->shapes & SHAPE_WHOLE))
		packet.flags |= RL_MATCH_FRAGMENT;
	if (region->known == IS_NEW)
		packet.flags |= RL_MATCH_NEW_SOURCE;
	if (region->proven != (IS_PROVEN | IS_UNPROVEN))
		packet.flags |= RL_MATCH_ESTABLISHED;
	if (region->proven == IS_UNPROVEN)
		packet.negated |= RL_MATCH_ESTABLISHED;
	return packet;
}
