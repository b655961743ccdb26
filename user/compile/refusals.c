// SPDX-License-Identifier: GPL-2.0-only
/* Which refusals the data path remembers: bpf/limit/refusal.h, bpf/limit/shared_refusal.h. */
#include "compile/build.h"

#include <string.h>

#define HOME_LEN6 64 /* IPv6 bits of a lookup address: numbers.c, is_lookup_address */

/* The rules of a range, as far as they are written now: with prefix_compile those of other prefixes
 * stay as they are. */
static struct rl_rule *range_rules(const struct build *b, const struct rl_range *range,
				   uint32_t *count)
{
	bool indexed = range->count && range->match_mode == RL_MATCH_MODE_INDEXED;
	const struct rl_index_entry *root = NULL;
	uint32_t first = range->first;

	if (indexed && b->out->index.count)
		root = &b->out->index.entries[range->first];
	if (root)
		first = root->first;
	*count = root ? root->count : range->count;
	if (first < b->base || (indexed && !root))
		*count = 0;
	return *count ? &b->out->rules[first - b->base] : NULL;
}

/* Is what is over the limit dropped, unless it is established? */
static bool refusal_is_final(const struct rl_rule *rule)
{
	return rule->limit.over == RL_OVER_DROP || rule->limit.over == RL_OVER_UNLESS;
}

/* Does the limit hold for every packet that is not established, but for these matches? */
static bool holds_but_for(const struct rl_rule *rule, uint32_t matches)
{
	uint32_t negated = rule->match.negated;

	return rule->action == RL_ACTION_LIMIT && !rule->expires_ns &&
	       !(rule->flags & (RL_RULE_WHILE | RL_RULE_WHILE_NOT)) &&
	       !(rule->match.flags & ~(RL_MATCH_ESTABLISHED | matches)) &&
	       negated == (rule->match.flags & RL_MATCH_ESTABLISHED);
}

/* Where refusals of the rule hold only for packets that are not established, packets that may be
 * are to ask the limit. */
static void strangers_note(struct build *b, const struct rl_rule *rule)
{
	if (rule->limit.over == RL_OVER_UNLESS || rule->match.flags & RL_MATCH_ESTABLISHED)
		b->out->header.uses |= RL_USE_STRANGERS;
}

/* ---- those of addresses (bpf/limit/refusal.h): of the first limit of a group that holds for every
 * packet, if the group allows none and no limit before it bans. Others of the group, and the rules
 * of the device, cannot let a packet pass that this one refuses. Where no group has such a limit,
 * those of the class of packets for which the first limit of `any` holds are remembered. */

#define CLASS_MATCHES (RL_MATCH_PROTO | RL_MATCH_DPORT)

/* The packets for which the limit holds, unless they are established. */
static bool class_of(const struct rl_rule *rule, struct rl_refusal_class *out)
{
	const struct rl_match *match = &rule->match;

	*out = (struct rl_refusal_class){.match = match->flags & CLASS_MATCHES};
	if (rule->extra || !holds_but_for(rule, CLASS_MATCHES))
		return false;
	if (out->match & RL_MATCH_PROTO)
		out->proto = match->proto;
	if (out->match & RL_MATCH_DPORT) {
		out->dport_first = match->dport_first;
		out->dport_last = match->dport_last;
	}
	return true;
}

static bool rule_refusal_cached(const struct build *b, const struct rl_rule *rule)
{
	struct rl_refusal_class own;
	bool slow =
		rule->clock == RL_CLOCK_TICK || (rule->limit.algorithm == RL_SLIDING_LOG &&
						 rule->window.period_ns / 16 >= b->ctx->tick_ns);

	return slow && rule->flags & RL_RULE_SIMPLE && rule->flags & RL_RULE_LOOKUP_ADDRESS &&
	       !(rule->flags & (RL_RULE_BYTES | RL_RULE_SHADOW | RL_RULE_BAN)) &&
	       refusal_is_final(rule) &&
	       /* It holds for every packet whose refusals are remembered. */
	       class_of(rule, &own) &&
	       (!own.match || !memcmp(&own, &b->out->header.refusal_class, sizeof(own))) &&
	       (rule->backend == RL_BACKEND_HOT || rule->backend == RL_BACKEND_UNCONFIRMED) &&
	       rule->counter_id >> RL_REFUSAL_COUNTER_BITS == 0;
}

static void group_refusals_cached(struct build *b, const struct rl_range *range)
{
	uint32_t count;
	struct rl_rule *rule = range_rules(b, range, &count), *end;

	if (!rule || rule->action == RL_ACTION_ALLOW) /* these stand first */
		return;
	end = rule + count;
	while (rule < end && !(rule->flags & RL_RULE_BAN) && !rule_refusal_cached(b, rule))
		rule++;
	if (rule == end || rule->flags & RL_RULE_BAN)
		return;
	rule->flags |= RL_RULE_REFUSAL_CACHED;
	strangers_note(b, rule);
	b->out->header.uses |= RL_USE_REFUSALS4 | RL_USE_REFUSALS6;
}

static void groups_refusals_cached(struct build *b)
{
	group_refusals_cached(b, &b->out->header.any);
	for (uint32_t i = 0; i < b->out->prefix_count; i++)
		group_refusals_cached(b, &b->out->prefixes[i].value.range);
}

/* No group has a limit that holds for every packet. */
static void class_choose(struct build *b)
{
	struct rl_policy_header *header = &b->out->header;
	uint32_t count;
	const struct rl_rule *rule = range_rules(b, &header->any, &count);

	for (uint32_t i = 0; i < count && !(header->uses & RL_USE_REFUSALS4); i++)
		if (class_of(rule + i, &header->refusal_class))
			group_refusals_cached(b, &header->any);
	if (!(header->uses & RL_USE_REFUSALS4))
		header->refusal_class = (struct rl_refusal_class){0};
}

/* ---- of limits that every packet meets (bpf/limit/shared_refusal.h, pattern_refusal.h) */

/* Does the limit hold for every packet, or for every one of a new source, and is what is over it
 * dropped for sure? */
static bool refuses_any(const struct rl_rule *rule)
{
	return !(rule->flags & (RL_RULE_SHADOW | RL_RULE_BAN)) && refusal_is_final(rule) &&
	       holds_but_for(rule, RL_MATCH_NEW_SOURCE);
}

/* Where the device allows packets, its limits do not hold for them. */
static void group_refuses(struct build *b, const struct rl_range *range)
{
	struct rl_policy_header *header = &b->out->header;
	uint32_t count;
	struct rl_rule *rule = range_rules(b, range, &count);

	if (!rule || rule->action == RL_ACTION_ALLOW)
		return;
	for (struct rl_rule *end = rule + count; rule < end; rule++) {
		if (!refuses_any(rule))
			continue;
		if (rule->backend == RL_BACKEND_SHARED && rule->clock == RL_CLOCK_TICK) {
			rule->flags |= rule->match.flags & RL_MATCH_NEW_SOURCE
					       ? RL_RULE_REFUSES_NEW
					       : RL_RULE_REFUSES_ALL;
			strangers_note(b, rule);
			header->uses |= RL_USE_REFUSES;
		}
		if (rule->backend == RL_BACKEND_PARTS && rule->parts.step_ns &&
		    rule->parts.classes && !(header->uses & RL_USE_PATTERNS)) {
			header->uses |= RL_USE_PATTERNS;
			header->patterns_of = b->base + (uint32_t)(rule - b->out->rules);
		}
	}
}

/* An IPv6 lookup address is a /64: longer prefixes, and members of sets, split it, so its refusals
 * cannot be cached. */
void refusals_choose(struct build *b)
{
	struct rl_policy_header *header = &b->out->header;
	const __u64 *longer = &header->lengths[1][1]; /* 64 and more, 128 */

	if (b->ctx->no_refusals)
		return;
	group_refuses(b, &header->device);
	if (!header->prefixes && !(b->out->groups && b->out->groups->prefixes))
		group_refuses(b, &header->any);
	if (header->uses & RL_USE_SOURCE_BANS)
		return;
	if (!RL_REFUSES_CLASS(header)) /* else no limit is written now: compile.c */
		groups_refusals_cached(b);
	if (!(header->uses & RL_USE_REFUSALS4) && !RL_REFUSES_CLASS(header)) {
		class_choose(b);
		groups_refusals_cached(b);
	}
	_Static_assert(HOME_LEN6 == 64, "longer lengths begin with the second word");
	if (longer[0] & ~1ull || longer[1] || header->uses & RL_USE_SET_RULES) {
		header->uses &= ~RL_USE_REFUSALS6;
		header->refusal_class.ipv6 = 0;
	}
	/* Packets of the class alone ask for refusals. */
	if (RL_REFUSES_CLASS(header) && header->uses & RL_USE_REFUSALS4) {
		header->refusal_class.ipv6 = !!(header->uses & RL_USE_REFUSALS6);
		header->uses &= ~(RL_USE_REFUSALS4 | RL_USE_REFUSALS6);
	}
}
