// SPDX-License-Identifier: GPL-2.0-only
/* The size of a bucket or queue: its range and its default. */

#include "base/units.h"
#include "policy/parser.h"

#define SEGMENTS_BYTES 73728 /* largest GSO packet at tc: 64 KiB of data, and its headers */
#define REFILL_MAX_NS  (9 * 365 * NS_PER_DAY)

uint64_t packet_size(const struct rl_limit *limit, const struct policy_context *ctx,
		     unsigned int header_bytes)
{
	uint64_t bytes = (uint64_t)ctx->mtu + header_bytes;

	if (counts_packets(limit))
		return 1;
	return limit->unit == RL_BITS ? bytes * 8 : bytes;
}

int refuse_size(struct parser *p, struct span at, const char *why, uint64_t size)
{
	char text[40];

	limit_size_print(text, sizeof(text), &p->rule->limit, size);
	return refuse(p, at, "%s %s", why, text);
}

/* A day of the rate, but a packet at least. */
static uint64_t size_most(const struct rl_limit *limit, const struct policy_context *ctx)
{
	uint64_t day = rate_amount_in(limit->amount, limit->period_ns, NS_PER_DAY);
	uint64_t full = packet_size(limit, ctx, ETHERNET_VLAN_BYTES);

	return day > full ? day : full;
}

int size_check(struct parser *p, struct span at)
{
	const struct rl_limit *limit = &p->rule->limit;
	uint64_t least = packet_size(limit, p->ctx, ETHERNET_BYTES);
	uint64_t most = size_most(limit, p->ctx);

	if (limit->size < least)
		return refuse_size(p, at,
				   "is less than one full packet of this device: write at least",
				   least);
	if (limit->size > most)
		return refuse_size(p, at, "is more than a day of the rate: write at most", most);
	if ((unsigned __int128)limit->size * limit->period_ns >
	    (unsigned __int128)limit->amount * REFILL_MAX_NS)
		return refuse(p, at,
			      "takes more than 9 years to refill at this rate: write a higher "
			      "rate, for example 1kbyte/day");
	return 0;
}

int size_convert(struct parser *p, const struct quantity *q, __u64 *out)
{
	const struct rl_limit *limit = &p->rule->limit;

	if (counts_packets(limit) && q->unit != RL_PACKETS)
		return refuse(p, q->at,
			      "is in bytes or bits, but the rate is in packets: write a number of "
			      "packets, for example 200");
	if (!counts_packets(limit) && q->unit == RL_PACKETS)
		return refuse(p, q->at,
			      "is in packets, but the rate is in bytes or bits: add a unit, for "
			      "example 64kibyte");
	*out = q->n;
	if (limit->unit == RL_BYTES && q->unit == RL_BITS)
		*out = q->n / 8;
	if (limit->unit == RL_BITS && q->unit == RL_BYTES && __builtin_mul_overflow(q->n, 8, out))
		*out = UINT64_MAX; /* more than a day of any rate */
	return 0;
}

int size_set(struct parser *p, const struct quantity *q)
{
	struct rl_limit *limit = &p->rule->limit;
	int rc = 0;

	if (q->is_duration) {
		/* The amount that leaks in that time, which is kept too if it is not a whole number
		 * of packets, bytes or bits. */
		limit->size = rate_amount_in(limit->amount, limit->period_ns, q->n);
		if (!limit->size && counts_packets(limit))
			limit->size = 1;
		else if ((unsigned __int128)limit->amount * q->n % limit->period_ns)
			limit->queue_ns = q->n;
	} else {
		rc = size_convert(p, q, &limit->size);
		limit->size_other = q->unit != limit->unit;
		p->rule->size_cut = limit->unit == RL_BYTES && q->unit == RL_BITS && q->n % 8;
	}
	return rc ? rc : size_check(p, q->at);
}

uint64_t size_default(const struct rl_limit *limit, const struct policy_context *ctx)
{
	uint64_t full = packet_size(limit, ctx, ETHERNET_VLAN_BYTES);
	uint64_t segments = SEGMENTS_BYTES * (limit->unit == RL_BITS ? 8ull : 1ull);
	bool merged = ctx->tc || ctx->generic;

	if (!merged || counts_packets(limit) || segments < full ||
	    rate_amount_in(limit->amount, limit->period_ns, NS_PER_DAY) < segments)
		return full;
	return segments;
}

/* A sender that stays below the rate loses nothing, even if it sends a few packets together, as
 * with A and AAAA queries: a tenth of a second, and BURST_PACKETS at least, within a day of the
 * rate. A warm-up needs a cold interval. */
uint64_t burst_default(const struct rl_limit *limit, const struct policy_context *ctx)
{
	uint64_t tenth = rate_amount_in(limit->amount, limit->period_ns, NS_PER_SECOND / 10);
	uint64_t few = BURST_PACKETS * packet_size(limit, ctx, ETHERNET_VLAN_BYTES);
	uint64_t most = size_most(limit, ctx), least = size_default(limit, ctx);

	if (limit->algorithm == RL_WARM_UP)
		return limit->cold + 1;
	few = few < most ? few : most;
	least = few > least ? few : least;
	return tenth > least ? tenth : least;
}
