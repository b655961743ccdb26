// SPDX-License-Identifier: GPL-2.0-only
/* Finds the rules that decide: longest prefix first, allow before deny before limits, then the
 * rules of the device.
 *
 * The packets that a rule matches form a few boxes: a range in every dimension of struct box. A
 * rule decides if the boxes of the rules before it do not cover all of its own. The search for an
 * uncovered packet cuts a box at the borders of one earlier box after the other; if it exceeds
 * STEPS_MAX, the rule counts as deciding.
 */

#include "decide.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "proof.h"
#include "units.h"

#define STEPS_MAX (1u << 18) /* about 10 ms; real policies need a few hundred */

typedef unsigned __int128 u128;

/* Kinds of packets that `syn` and `fragment` tell apart, in an order in which each match is a
 * range. For protocols other than TCP, no match separates a kind with SYN from its neighbour. */
enum shape {
	SHAPE_WHOLE,
	SHAPE_WHOLE_SYN,
	SHAPE_FIRST_SYN,
	SHAPE_FIRST,
	SHAPE_LATER, /* a later fragment: no ports, no flags */
};

/* PEER: the address that is not the lookup address. KNOWN: 1 for a known source. PROVEN: 1 for what
 * is established. */
enum dimension { PROTO, SHAPE, SPORT, DPORT, PEER, KNOWN, PROVEN, DIMENSIONS };

struct box {
	u128 first[DIMENSIONS], last[DIMENSIONS]; /* inclusive */
};

struct boxes {
	struct box *box;
	size_t count, capacity;
};

/* Packets that reach the rules of the device: those of a box that no rule before it decides on. */
struct arrival {
	struct box box;
	size_t before; /* number of boxes of search.before that come before it */
};

struct search {
	const struct policy *policy;
	const struct asked *asked;
	struct policy *found;
	struct boxes before;      /* of rules with prefixes: packets that later rules never see */
	struct boxes decided;     /* the same of the device's rules */
	struct arrival *arrivals; /* at the device's rules */
	size_t arrival_count;
	unsigned int steps;
	int error;
};

/* The first boxes of search.before, then of search.decided. */
struct list {
	const struct search *search;
	size_t before, decided;
};

/* ---- boxes */

static void boxes_add(struct search *search, struct boxes *boxes, const struct box *box)
{
	size_t capacity = boxes->capacity ? 2 * boxes->capacity : 64;
	struct box *more;

	if (boxes->count == boxes->capacity) {
		more = reallocarray(boxes->box, capacity, sizeof(*more));
		if (!more) {
			search->error = -ENOMEM;
			return;
		}
		boxes->box = more;
		boxes->capacity = capacity;
	}
	boxes->box[boxes->count++] = *box;
}

static const struct box *list_at(const struct list *list, size_t index)
{
	if (index < list->before)
		return &list->search->before.box[index];
	return &list->search->decided.box[index - list->before];
}

static void narrow(struct box *box, enum dimension d, u128 first, u128 last)
{
	box->first[d] = first > box->first[d] ? first : box->first[d];
	box->last[d] = last < box->last[d] ? last : box->last[d];
}

static bool box_is_empty(const struct box *box)
{
	for (int d = 0; d < DIMENSIONS; d++)
		if (box->first[d] > box->last[d])
			return true;
	return false;
}

static struct box box_common(const struct box *a, const struct box *b)
{
	struct box common = *a;

	for (int d = 0; d < DIMENSIONS; d++)
		narrow(&common, d, b->first[d], b->last[d]);
	return common;
}

/* Does the box hold a packet outside all of `taken`, from index `from` on? */
static bool is_open(struct search *search, struct box box, const struct list *taken, size_t from);

/* The same for the parts of the box outside taken[index]. */
static bool rest_is_open(struct search *search, struct box box, const struct list *taken,
			 size_t index)
{
	const struct box *cut = list_at(taken, index);

	for (int d = 0; d < DIMENSIONS; d++) {
		struct box part = box;

		part.last[d] = cut->first[d] - 1;
		if (box.first[d] < cut->first[d] && is_open(search, part, taken, index + 1))
			return true;
		part = box;
		part.first[d] = cut->last[d] + 1;
		if (box.last[d] > cut->last[d] && is_open(search, part, taken, index + 1))
			return true;
		narrow(&box, d, cut->first[d], cut->last[d]);
	}
	return false;
}

static bool is_open(struct search *search, struct box box, const struct list *taken, size_t from)
{
	for (size_t i = from; i < taken->before + taken->decided; i++) {
		struct box common = box_common(&box, list_at(taken, i));

		if (++search->steps > STEPS_MAX)
			return true;
		if (!box_is_empty(&common))
			return rest_is_open(search, box, taken, i);
	}
	return true;
}

/* ---- the packets to decide on */

static u128 address_number(const uint8_t addr[16])
{
	u128 number = 0;

	for (int i = 0; i < 16; i++)
		number = number << 8 | addr[i];
	return number;
}

static void narrow_prefix(struct box *box, enum dimension d, const uint8_t addr[16], uint8_t len)
{
	u128 first = address_number(addr), size = len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0;

	narrow(box, d, first, first + size);
}

static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

static bool is_ipv4(const struct search *search)
{
	return prefix_is_ipv4(search->asked->addr, 128);
}

static struct box packets_all(const struct search *search)
{
	const struct flow *flow = search->asked->flow;
	struct box box = {
		.last = {[PROTO] = 255,
			 [SHAPE] = SHAPE_LATER,
			 [SPORT] = UINT16_MAX,
			 [DPORT] = UINT16_MAX,
			 [PEER] = ~(u128)0,
			 [KNOWN] = 1,
			 [PROVEN] = 1},
	};
	bool by_dest = search->asked->by_dest;

	if (is_ipv4(search))
		narrow_prefix(&box, PEER, mapped, RL_MAPPED_BITS);
	if (!flow)
		return box;
	narrow(&box, PROTO, IPPROTO_TCP, IPPROTO_TCP);
	narrow(&box, SHAPE, SHAPE_WHOLE, SHAPE_WHOLE_SYN);
	if (flow->dport)
		narrow(&box, DPORT, flow->dport, flow->dport);
	/* Any source port: the next connection uses another one. */
	if (by_dest || flow->dst_known)
		narrow_prefix(&box, PEER, by_dest ? flow->src : flow->dst, 128);
	return box;
}

/* Packets that are never established. Other rules do not ask. */
static void unproven_add(struct search *search)
{
	static const uint8_t proven[] = {IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6};
	struct box all = packets_all(search), box;
	unsigned int next = 0;
	bool asked = false;

	policy_for_each (search->policy, rule)
		asked |= rule->match.flags & RL_MATCH_ESTABLISHED;
	if (!asked)
		return;
	narrow(&all, PROVEN, 1, 1);
	for (size_t i = 0; i <= sizeof(proven); i++) {
		unsigned int end = i < sizeof(proven) ? proven[i] : 256;

		box = all;
		narrow(&box, PROTO, next, end - 1);
		boxes_add(search, &search->before, &box);
		next = end + 1;
	}
	box = all;
	narrow(&box, SHAPE, SHAPE_LATER, SHAPE_LATER);
	boxes_add(search, &search->before, &box);
	box = all;
	narrow(&box, PROTO, IPPROTO_TCP, IPPROTO_TCP);
	narrow(&box, SHAPE, SHAPE_WHOLE_SYN, SHAPE_FIRST_SYN);
	boxes_add(search, &search->before, &box);
}

/* IPv6 packets that no rule sees: those with mapped addresses, which are malformed, and those with
 * the number of an extension header as protocol, except later fragments. */
static void impossible_add(struct search *search)
{
	static const uint8_t extensions[] = {
		IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_AH,
		IPPROTO_DSTOPTS, IPPROTO_MH,      139 /* HIP */,    140 /* Shim6 */};
	struct box all = packets_all(search), box = all;

	if (is_ipv4(search))
		return;
	narrow_prefix(&box, PEER, mapped, RL_MAPPED_BITS);
	boxes_add(search, &search->before, &box);
	for (size_t i = 0; i < sizeof(extensions); i++) {
		box = all;
		narrow(&box, PROTO, extensions[i], extensions[i]);
		narrow(&box, SHAPE, SHAPE_WHOLE, SHAPE_FIRST);
		boxes_add(search, &search->before, &box);
	}
}

/* ---- the packets that a rule matches */

/* Applies the matches of the lookup address and of its peer. False: no packet matches. */
static bool narrow_addresses(const struct search *search, const struct rl_match *match,
			     struct box *box)
{
	bool by_dest = search->asked->by_dest;
	unsigned int own = by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
	unsigned int other = by_dest ? RL_MATCH_SRC : RL_MATCH_DST;
	const uint8_t *own_addr = by_dest ? match->dst : match->src;
	const uint8_t *other_addr = by_dest ? match->src : match->dst;
	uint8_t own_len = by_dest ? match->dst_len : match->src_len;
	uint8_t other_len = by_dest ? match->src_len : match->dst_len;

	if (match->flags & own && !prefix_contains(own_addr, own_len, search->asked->addr))
		return false;
	if (!(match->flags & other))
		return true;
	if (prefix_is_ipv4(other_addr, other_len) != is_ipv4(search))
		return false;
	narrow_prefix(box, PEER, other_addr, other_len);
	return true;
}

static void narrow_headers(const struct rl_match *match, struct box *box)
{
	if (match->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT))
		narrow(box, SHAPE, SHAPE_WHOLE, SHAPE_FIRST);
	if (match->flags & RL_MATCH_SPORT)
		narrow(box, SPORT, match->sport_first, match->sport_last);
	if (match->flags & RL_MATCH_DPORT)
		narrow(box, DPORT, match->dport_first, match->dport_last);
	if (match->flags & RL_MATCH_SYN)
		narrow(box, SHAPE, SHAPE_WHOLE_SYN, SHAPE_FIRST_SYN);
	if (match->flags & RL_MATCH_FRAGMENT)
		narrow(box, SHAPE, SHAPE_FIRST_SYN, SHAPE_LATER);
	if (match->flags & RL_MATCH_NEW_SOURCE)
		narrow(box, KNOWN, 0, 0);
	if (match->flags & RL_MATCH_ESTABLISHED)
		narrow(box, PROVEN, match_wants_established(match), match_wants_established(match));
}

/* One box per protocol that the rule can match. Returns their number; 0: no packet matches. */
#define RULE_BOXES 3

static int rule_boxes(const struct search *search, const struct rl_match *match,
		      struct box out[RULE_BOXES])
{
	static const uint8_t with_ports[RULE_BOXES] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};
	bool ports = match->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT);
	struct box all = packets_all(search);
	int protocols = 1, count = 0;

	if (!narrow_addresses(search, match, &all))
		return 0;
	narrow_headers(match, &all);
	if (match->flags & RL_MATCH_PROTO)
		narrow(&all, PROTO, match->proto, match->proto);
	else if (match->flags & RL_MATCH_SYN)
		narrow(&all, PROTO, IPPROTO_TCP, IPPROTO_TCP);
	else if (ports)
		protocols = RULE_BOXES;
	for (int i = 0; i < protocols; i++) {
		out[count] = all;
		if (protocols > 1)
			narrow(&out[count], PROTO, with_ports[i], with_ports[i]);
		count += !box_is_empty(&out[count]);
	}
	return count;
}

/* ---- prefixes */

static bool has_prefix(const struct search *search, const struct rule *rule, enum prefix_kind kind,
		       int len)
{
	if (rule->kind != kind)
		return false;
	return kind != PREFIX_ADDR ||
	       (rule->len == len && prefix_contains(rule->addr, rule->len, search->asked->addr));
}

static bool box_decides(struct search *search, const struct box *box)
{
	const struct list taken = {.search = search, .before = search->before.count};

	search->steps = 0;
	return is_open(search, *box, &taken, 0);
}

/* The same for a rule of the device. */
static bool device_box_decides(struct search *search, const struct box *box)
{
	search->steps = 0;
	for (size_t i = 0; i < search->arrival_count; i++) {
		struct box common = box_common(box, &search->arrivals[i].box);
		const struct list taken = {.search = search,
					   .before = search->arrivals[i].before,
					   .decided = search->decided.count};

		if (!box_is_empty(&common) && is_open(search, common, &taken, 0))
			return true;
	}
	return false;
}

static void arrival_add(struct search *search, const struct box *box, size_t before)
{
	struct arrival *more =
		reallocarray(search->arrivals, search->arrival_count + 1, sizeof(*more));

	if (!more) {
		search->error = -ENOMEM;
		return;
	}
	search->arrivals = more;
	more[search->arrival_count++] = (struct arrival){.box = *box, .before = before};
}

/* Does the rule decide? Appends its boxes to `kept`. */
static bool rule_decides(struct search *search, const struct rule *rule, size_t before,
			 struct boxes *kept)
{
	bool device = rule->kind == PREFIX_DEVICE, decides = false;
	struct box boxes[RULE_BOXES];
	int count = rule_boxes(search, &rule->match, boxes);

	for (int i = 0; i < count; i++) {
		decides |= device ? device_box_decides(search, &boxes[i])
				  : box_decides(search, &boxes[i]);
		if (!device && rule->action == RL_ACTION_LIMIT)
			arrival_add(search, &boxes[i], before);
		if (!rule->for_ns) /* else later rules decide once it has expired */
			boxes_add(search, kept, &boxes[i]);
	}
	return decides;
}

/* The rules of one prefix with one action; none of them hides packets from another. */
static void search_action(struct search *search, enum prefix_kind kind, int len,
			  enum rl_action action)
{
	struct boxes *all = kind == PREFIX_DEVICE ? &search->decided : &search->before;
	size_t before = search->before.count;
	struct boxes kept = {0};

	policy_for_each (search->policy, rule) {
		if (rule->action != action || !has_prefix(search, rule, kind, len))
			continue;
		if (rule_decides(search, rule, before, &kept) && policy_append(search->found, rule))
			search->error = -ENOMEM;
	}
	for (size_t i = 0; i < kept.count; i++)
		boxes_add(search, all, &kept.box[i]);
	free(kept.box);
}

static void search_prefix(struct search *search, enum prefix_kind kind, int len)
{
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		search_action(search, kind, len, action);
}

/* Marks the lengths of the prefixes that contain the address. */
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
	struct box all = packets_all(&search);
	bool lengths[129] = {false};

	impossible_add(&search);
	unproven_add(&search);
	lengths_find(&search, lengths);
	for (int len = 128; len >= 0; len--)
		if (lengths[len])
			search_prefix(&search, PREFIX_ADDR, len);
	search_prefix(&search, PREFIX_ANY, 0);
	arrival_add(&search, &all, search.before.count);
	search_prefix(&search, PREFIX_DEVICE, 0);
	free(search.before.box);
	free(search.decided.box);
	free(search.arrivals);
	return search.error;
}
