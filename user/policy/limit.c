// SPDX-License-Identifier: GPL-2.0-only
/* A limit: its algorithm and rate, defaults, and the ranges that keep later arithmetic from
 * overflowing (all compared in 128 bits):
 *   rate          1..2^48 packets in a period; at most 100 million packets or 400 Gbit a second;
 *                 at least one packet a day
 *   burst, queue  one packet of the MTU to a day of the rate; one packet is always allowed if the
 *                 bucket refills within 9 years
 *   windows       at least one packet; sliding-log at most 1024; slots 2..16, of at least 1 ns
 *   warm-up       cold factor 2..100
 */
#include <ctype.h>
#include <string.h>

#include "base/units.h"
#include "policy/key.h"
#include "policy/names.h"
#include "policy/parser.h"
#include "policy/policy.h"

#define WINDOW_AMOUNT_MAX   ((1ull << 52) - 1)
#define SLOTS_PERIOD_MAX_NS (1ull << 59) /* times 16 slots, it fits 64 bits */
#define RAMP_MAX_NS         NS_PER_DAY

static int bucket_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;

	if (clause_given(p, CLAUSE_BURST) || clause_given(p, CLAUSE_QUEUE))
		return 0;
	limit->size = limit->algorithm == RL_LEAKY_BUCKET ? size_default(limit, p->ctx)
							  : burst_default(limit, p->ctx);
	return size_check(p, p->rate_at);
}

static int window_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t least = packet_size(limit, p->ctx, ETHERNET_BYTES);

	if (limit->amount < least)
		return refuse_size(
			p, p->rate_at,
			"is less than one full packet of this device: write a window of at least",
			least);
	if (limit->amount / (limit->unit == RL_BITS ? 8 : 1) > WINDOW_AMOUNT_MAX)
		return refuse(p, p->rate_at,
			      "is out of range: write less than 2^52 packets or bytes per period");
	if (limit->algorithm != RL_SLIDING_WINDOW)
		return 0;
	if (limit->period_ns > SLOTS_PERIOD_MAX_NS)
		return refuse(p, p->rate_at, "has too long a period: write 6000d or less");
	if (!limit->slots)
		limit->slots = 10;
	if (limit->period_ns < limit->slots)
		return refuse(p, p->rate_at,
			      "has too short a period for %u slots: write %uns or more",
			      limit->slots, limit->slots);
	return 0;
}

static int log_finish(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;

	if (!counts_packets(limit))
		return refuse(p, p->rate_at,
			      "is in bytes or bits, but sliding-log counts packets only: write "
			      "for example 100/second, or use sliding-window");
	if (limit->amount > RL_SLIDING_LOG_MAX)
		return refuse(p, p->rate_at,
			      "is too high for sliding-log: write at most %u packets per period, "
			      "or use sliding-window",
			      RL_SLIDING_LOG_MAX);
	return 0;
}

static int warm_up_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;

	if (!counts_packets(limit))
		return refuse(p, p->rate_at,
			      "is in bytes or bits, but warm-up counts packets only: write for "
			      "example 100/second");
	if (!clause_given(p, CLAUSE_RAMP))
		return expected(p, "a ramp: write for example ramp 30s");
	if (limit->ramp_ns > RAMP_MAX_NS)
		return refuse(p, p->rate_at, "has too long a ramp: write ramp 1d or less");
	if (!limit->cold)
		limit->cold = 3;
	if (!clause_given(p, CLAUSE_BURST))
		limit->size = burst_default(limit, p->ctx);
	return 0;
}

static int (*const limit_finish[RL_ALGORITHM_COUNT])(struct parser *p) = {
	[RL_TOKEN_BUCKET] = bucket_finish, [RL_LEAKY_BUCKET] = bucket_finish,
	[RL_FIXED_WINDOW] = window_finish, [RL_SLIDING_WINDOW] = window_finish,
	[RL_SLIDING_LOG] = log_finish,     [RL_WARM_UP] = warm_up_finish,
};

int parse_limit(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	int algorithm = word_find(p, algorithm_words, ARRAY_SIZE(algorithm_words));
	struct quantity rate;
	int rc;

	limit->algorithm = algorithm < 0 ? RL_TOKEN_BUCKET : algorithm;
	if (algorithm >= 0)
		word_next(p);
	else if (p->span.len && !isdigit((unsigned char)p->span.at[0]))
		return expected(p,
				"an algorithm or a rate: write token-bucket, leaky-bucket, "
				"fixed-window, sliding-window, sliding-log or warm-up, or a rate "
				"such as " RATE_EXAMPLES);
	if (connections_follow(p)) {
		rc = parse_connections(p, algorithm);
	} else {
		rc = parse_quantity(p, QUANTITY_RATE, &rate) ?: rate_check(p, &rate);
		limit->amount = rate.n;
		limit->period_ns = rate.period_ns;
		limit->unit = rate.unit;
		p->rate_at = rate.at;
	}
	rc = rc ?: parse_clauses(p);
	if (!rc && !clause_given(p, CLAUSE_PER))
		key_set(limit, rule_default_key(p->rule, p->ctx));
	rc = rc ?: key_check(p);
	if (rc)
		return rc;
	if (limit->unit == RL_CONNECTIONS)
		return connections_check(p);
	return limit_finish[limit->algorithm](p) ?: division_check(p) ?: ban_check(p) ?: over_check(p);
}
