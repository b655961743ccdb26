// SPDX-License-Identifier: GPL-2.0-only
/* A limit of a fleet: its identity, which all members agree on, and the part of each member. Pure.
 */
#include <stdio.h>
#include <string.h>

#include "algorithm/fleet_clock.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "policy/policy.h"

#define FRAME_MORE   22           /* bytes of a frame beyond the MTU: header with two VLAN tags */
#define CLOCK_BEGIN  (1ull << 60) /* far from 0, which is the word of a fresh bucket */
#define RATE_MOST    9.2e18
#define BURST_PART   10  /* of a log's N, or of a second of a warm-up */
#define WINDOW_PARTS 120 /* one of them is split evenly without a lease */

/* Hash of prefix, match, key, unit, algorithm and numbers; `over` and `for` do not count. */
static void identity_make(const struct rule *rule, bool by_dest, char out[IDENTITY_MAX])
{
	static const struct policy_context plain = {.mtu = 1500, .tc = true};
	struct rule bare = *rule;
	char text[RULE_TEXT_MAX];

	bare.for_ns = 0;
	bare.limit.over = RL_OVER_DROP;
	bare.limit.ban_ns = bare.limit.ban_source = bare.limit.mark = 0;
	rule_print(text, sizeof(text), &bare, &plain);
	snprintf(out, IDENTITY_MAX, "%016llx",
		 (unsigned long long)text_hash(text, FLEET_HASH + by_dest));
}

/* The burst of a limit; a part of N if its algorithm has none. */
static uint64_t burst_of(const struct rl_limit *limit)
{
	uint64_t amount = limit->amount;

	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		return limit->size;
	case RL_SLIDING_WINDOW:
		return amount / limit->slots;
	case RL_WARM_UP:
		amount = rate_amount_in(amount, limit->period_ns, NS_PER_SECOND);
		break;
	}
	return amount / BURST_PART;
}

void fleet_limit_make(const struct rule *rule, uint32_t mtu, bool by_dest, struct fleet_limit *out)
{
	const struct rl_limit *limit = &rule->limit;
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;

	*out = (struct fleet_limit){
		.rule = *rule,
		.window = limit->algorithm == RL_FIXED_WINDOW,
		.burst = burst_of(limit) / bits,
		.packet = limit->unit == RL_PACKETS ? 1 : mtu + FRAME_MORE,
		.per_ns = (double)limit->amount / (double)bits / (double)limit->period_ns,
		.shift = limit->unit == RL_PACKETS ? RL_FLEET_PACKET_SHIFT : RL_FLEET_BYTE_SHIFT,
	};
	identity_make(rule, by_dest, out->identity);
}

uint64_t fleet_limit_rate(const struct fleet_limit *limit, double share)
{
	double rate = limit->per_ns * share / SHARE_ALL * (double)(1ull << limit->shift) *
		      (double)(1ull << RL_FLEET_RATE_SHIFT);

	return rate < RATE_MOST ? (uint64_t)rate : (uint64_t)RATE_MOST;
}

static uint64_t window_amount(const struct fleet_limit *limit)
{
	return limit->rule.limit.amount / (limit->rule.limit.unit == RL_BITS ? 8 : 1);
}

uint64_t fleet_limit_leased(const struct fleet_limit *limit)
{
	uint64_t amount = window_amount(limit);

	return amount - amount / (WINDOW_PARTS / 2);
}

/* A part of the burst, in grains; at least one packet. */
static uint64_t cap_of(const struct fleet_limit *limit, uint64_t parts)
{
	uint64_t grains = (limit->burst << limit->shift) / parts;
	uint64_t least = limit->packet << limit->shift;

	return grains > least ? grains : least;
}

void fleet_limit_next(struct fleet_limit *limit, uint32_t members, bool shared, uint64_t now_ns)
{
	struct rl_fleet_limit *record = &limit->record;
	struct fleet_clock now = {.grains = CLOCK_BEGIN};
	struct rl_fleet_phase *own = &record->phase[0], *alone = &record->phase[1];

	if (limit->window) {
		uint64_t part = window_amount(limit) / members;

		*record = (struct rl_fleet_limit){
			.since_ns = now_ns,
			.until_ns = shared ? now_ns + HOLD_NS : now_ns,
			/* Without a lease: a member's windows are not aligned with those of Redis,
			 * and two of them may fall into one. */
			.phase[0].cap = window_amount(limit) / WINDOW_PARTS / members,
			.phase[1].cap = part > limit->packet ? part : limit->packet,
		};
		return;
	}
	if (record->since_ns)
		now = fleet_clock_of(record, NULL, now_ns);
	else
		now.cap = cap_of(limit, 2ull * members);
	record->since_ns = now_ns;
	record->until_ns = shared ? now_ns + HOLD_NS : now_ns;
	own->rate = fleet_limit_rate(limit, (double)SHARE_OWN / members);
	own->cap = cap_of(limit, 2ull * members);
	own->grains = now.grains - (own->cap - now.cap);
	alone->rate = fleet_limit_rate(limit, (double)SHARE_ALL / members);
	alone->cap = cap_of(limit, members);
	alone->grains = own->grains + fleet_earned(record->until_ns - record->since_ns, own->rate) -
			(alone->cap - own->cap);
}

uint64_t fleet_limit_overshoot(const struct fleet_limit *limit, uint32_t members)
{
	uint64_t part = limit->burst / (2ull * members), over = 0;

	if (limit->window)
		return 0;
	if (part < limit->packet)
		over = members * (limit->packet - part);
	if (limit->rule.limit.algorithm == RL_TOKEN_BUCKET ||
	    limit->rule.limit.algorithm == RL_LEAKY_BUCKET)
		return over;
	return over + limit->burst;
}
