// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <errno.h>

#include "algorithm/share.h"
#include "base/units.h"
#include "policy/policy.h"

#define STEP_MAX_NS    (320 * NS_PER_MS)
#define FILLED_PERCENT 97 /* of the rate: the bucket after the parts is not to refuse */
#define RIPENS_MS      300

bool limit_has_parts(const struct rl_limit *limit)
{
	return limit->share[0] || (limit->algorithm == RL_TOKEN_BUCKET && limit->keep_for);
}

/* Is it shared by classes of senders, and not by a key? */
static bool has_classes(const struct rl_limit *limit)
{
	return limit->share[0] && limit->key == RL_KEY_RULE;
}

bool limit_asks_known(const struct rl_limit *limit)
{
	return has_classes(limit) || (limit_has_parts(limit) && limit->keep_for == RL_KEEP_KNOWN);
}

uint64_t parts_uses(const struct rl_limit *limit)
{
	bool asks_proof = has_classes(limit) || limit->keep_for == RL_KEEP_ESTABLISHED;

	if (!limit_has_parts(limit))
		return 0;
	return RL_USE_PARTS | (limit_asks_known(limit) ? RL_USE_NEW_SOURCE : 0) |
	       (asks_proof ? RL_USE_PROOF | RL_USE_ASKED : 0);
}

/* Whole ticks, so that all steps are equally long. */
static uint32_t step_of(const struct rl_limit *limit, uint64_t packet, uint64_t tick_ns)
{
	unsigned __int128 amount = (unsigned __int128)packet * SHARE_STEP_AMOUNT;
	unsigned __int128 wanted = amount * limit->period_ns / limit->amount;
	uint64_t step = wanted < STEP_MAX_NS ? wanted : STEP_MAX_NS;

	step = step < SHARE_STEP_NS ? SHARE_STEP_NS : step;
	return tick_ns ? (step + tick_ns / 2) / tick_ns * tick_ns : step;
}

void parts_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		   struct rl_parts *out)
{
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;
	uint64_t packet = limit->unit == RL_PACKETS ? 1 : ctx->text->mtu + ETHERNET_MAX;
	unsigned __int128 room;

	out->keep_for = limit->keep_for;
	out->drops = limit->over != RL_OVER_SHADOW;
	out->reserve =
		(unsigned __int128)(limit->keep / bits) * out->gcra.cost >> out->gcra.cost_shift;
	if (!limit->share[0])
		return;
	out->packet = packet;
	out->classes = has_classes(limit);
	out->step_ns = step_of(limit, packet * bits, ctx->tick_ns);
	room = ((unsigned __int128)limit->amount << RL_SHARE_SHIFT) * out->step_ns;
	room = room * FILLED_PERCENT / 100 / limit->period_ns / bits;
	out->room = room ? room : 1;
	out->weight[RL_SHARE_ESTABLISHED] = limit->share[0];
	out->weight[RL_SHARE_KNOWN] = limit->share[1];
	out->weight[RL_SHARE_STRANGER] = 100 - limit->share[0] - limit->share[1];
}

/* A flood is seen a step after its first, and its senders must not be known by then. */
static uint32_t ripens_ms(const struct rl_rule *rule)
{
	uint32_t steps_ms = 3 * (rule->parts.step_ns / NS_PER_MS);

	return steps_ms > RIPENS_MS ? steps_ms : RIPENS_MS;
}

void parts_number(struct build *b)
{
	struct rl_rule *end = b->out->rules + b->out->rule_count;
	uint32_t count = 0, shift = 0;

	for (struct rl_rule *rule = b->out->rules; rule < end; rule++)
		if (rule->backend == RL_BACKEND_PARTS)
			rule->parts.index = count++ & (RL_SHARES_MAX - 1);
	if (count > RL_SHARES_MAX) {
		build_refuse(
			b, NULL, -E2BIG,
			"too many limits with share or keep (at most %u): remove some, or join "
			"their rules",
			RL_SHARES_MAX);
		return;
	}
	if (!count)
		return;
	while (1u << shift < count)
		shift++;
	for (struct rl_rule *rule = b->out->rules; rule < end; rule++) {
		if (rule->backend != RL_BACKEND_PARTS)
			continue;
		rule->parts.bins_shift = shift;
		if (rule->parts.drops && limit_asks_known(&rule->limit) &&
		    b->out->header.ripens_ms < ripens_ms(rule))
			b->out->header.ripens_ms = ripens_ms(rule);
	}
}
