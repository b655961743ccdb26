// SPDX-License-Identifier: GPL-2.0-only
/* Rules keep their counter ids, limit ids, expiry and lanes of the policy in force. */
#include <errno.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "compile/build.h"
#include "policy/policy.h"

static void shared_end_update(struct build *b, const struct rule *rule)
{
	bool shared = rule->action == RL_ACTION_LIMIT && rule->limit.key == RL_KEY_RULE;

	if (shared && rule->counter_id >= b->out->shared_end)
		b->out->shared_end = rule->counter_id + 1;
}

static void slot_mark(struct build *b, uint32_t slot)
{
	if (slot >= b->ctx->slots_max)
		return;
	b->used[slot / 8] |= 1 << slot % 8;
	if (slot >= b->slots_end)
		b->slots_end = slot + 1;
}

static int slot_new(struct build *b, struct rule *rule)
{
	while (b->next_slot < b->ctx->slots_max &&
	       b->used[b->next_slot / 8] & 1 << b->next_slot % 8)
		b->next_slot++;
	if (b->next_slot == b->ctx->slots_max)
		return build_refuse(
			b, rule, -E2BIG,
			"too many rules (at most %u): use `attach --replace` with a larger "
			"--prefixes",
			b->ctx->slots_max);
	rule->counter_id = b->next_slot;
	slot_mark(b, rule->counter_id);
	b->out->fresh[b->out->fresh_count++] = rule->counter_id;
	return 0;
}

static void expiry_set(struct rule *rule, const struct rule *old, bool keep, uint64_t now_ns)
{
	uint64_t late;

	if (!rule->for_ns || rule->expires_ns)
		return;
	rule->expires_ns = now_ns + rule->for_ns;
	if (!keep || !old || !old->expires_ns)
		return;
	late = rule->expires_ns > old->expires_ns ? rule->expires_ns - old->expires_ns
						  : old->expires_ns - rule->expires_ns;
	if (late <= EXPIRY_SLACK_NS)
		rule->expires_ns = old->expires_ns;
}

static uint32_t limit_id_choose(struct build *b, const struct rule *rule, const struct rule *old)
{
	const struct rl_limit *own = &rule->limit, *former = old ? &old->limit : NULL;

	if (rule->action != RL_ACTION_LIMIT)
		return 0;
	/* All rules of an account have one id, and so one state; packets and bytes have one each.
	 */
	if (parts_are_account(own))
		return RL_ACCOUNT_LIMIT | own->account << 2 |
		       (own->algorithm == RL_LEAKY_BUCKET) << 1 | (own->unit == RL_PACKETS);
	/* The new limit can go on with the state of the old one, but for slots of another length.
	 */
	if (old && old->action == RL_ACTION_LIMIT && own->algorithm == former->algorithm &&
	    (own->algorithm != RL_SLIDING_WINDOW ||
	     (own->slots == former->slots && own->period_ns == former->period_ns)))
		return old->limit_id;
	return b->out->header.next_limit_id++;
}

int rules_inherit(struct build *b, struct policy *next, const struct policy *current,
		  bool keep_expiry)
{
	policy_for_each (current, rule) {
		slot_mark(b, rule->counter_id);
		shared_end_update(b, rule);
	}
	policy_for_each (next, rule) {
		const struct rule *old = policy_find(current, rule);
		int ret = 0;

		expiry_set(rule, old, keep_expiry, b->ctx->now_ns);
		rule->lane = old ? old->lane : RL_LANES;
		if (old)
			rule->counter_id = old->counter_id;
		else
			ret = slot_new(b, rule);
		if (ret)
			return ret;
		shared_end_update(b, rule);
		if (!rule->comment[0])
			rule->comment_id = 0;
		else if (old && old->comment_id && !strcmp(old->comment, rule->comment))
			rule->comment_id = old->comment_id;
		else
			rule->comment_id = ++b->out->header.next_comment_id;
		rule->limit_id = limit_id_choose(b, rule, old);
	}
	return 0;
}

/* The first lane with room, from `begin` on. Where all are full, that with the fewest rules: the
 * sets then hold those that a source meets. */
static uint8_t lane_with_room(const uint32_t used[RL_LANES], uint8_t begin)
{
	uint8_t least = begin;

	for (uint8_t i = 0; i < RL_LANES; i++) {
		uint8_t lane = (begin + i) % RL_LANES;

		if (used[lane] < RL_HOT_WAYS)
			return lane;
		if (used[lane] < used[least])
			least = lane;
	}
	return least;
}

/* New rules of a prefix take the first lane with room; those of `device` begin in the middle,
 * because a packet meets them after the rules of any prefix. */
static void group_lanes(struct rule *first, const struct rule *end)
{
	uint8_t begin = first->kind == PREFIX_DEVICE ? RL_LANES / 2 : 0;
	uint32_t used[RL_LANES] = {0};

	for (struct rule *rule = first; rule < end; rule++)
		if (rule->lane < RL_LANES)
			used[rule->lane]++;
	for (struct rule *rule = first; rule < end; rule++) {
		if (rule->lane < RL_LANES)
			continue;
		rule->lane = lane_with_room(used, begin);
		used[rule->lane]++;
	}
}

void lanes_choose(struct policy *next)
{
	for (size_t i = 0, count; i < next->count; i += count) {
		count = policy_prefix_count(next, i);
		group_lanes(&next->rules[i], &next->rules[i + count]);
	}
}
