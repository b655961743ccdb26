/* SPDX-License-Identifier: GPL-2.0-only */
/* A limit with `share` on the host: the real arithmetic of bpf/algorithm/share*.h and gcra.h with a
 * clock that ticks, and the exact shares to compare it with. For tests/unit/test_share.c and
 * tests/bench/share.c.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/share_step.h"
#include "base/units.h"

enum { SIM_STEP_MS_MAX = 320, SIM_SENDERS_MAX = 1 << 18 };

struct sim {
	struct rl_parts n;
	struct rl_share s;
	struct rl_bin bins[RL_BINS];
	uint64_t arrived[RL_SHARE_COUNTS], admitted[RL_SHARE_COUNTS];
	uint64_t senders[SIM_SENDERS_MAX]; /* the buckets of established and known senders */
	uint64_t word;                     /* the limit's bucket */
	uint64_t tick_ns, passed, random, seed;
	double rate, level, highest; /* of an exact bucket that is filled with what passed */
	uint64_t level_ns;
	unsigned int steps, uneasy;
};

struct sim_packet {
	uint64_t source;  /* of strangers any number; else below SIM_SENDERS_MAX */
	uint64_t pattern; /* protocol, port, length / 32, TTL, flags */
	uint32_t network, port;
	uint32_t amount;
	enum rl_share_class class;
};

static inline uint64_t sim_hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

static inline uint64_t sim_random(struct sim *sim)
{
	return sim_hash(sim->random += 0x9e3779b97f4a7c15ull);
}

static inline double sim_unit(struct sim *sim)
{
	return (double)(sim_random(sim) >> 11) * 0x1p-53;
}

/* rate: packets or bytes a second. */
static inline struct rl_parts sim_parts(double rate, uint32_t packet, uint64_t tick_ns,
					const uint8_t weight[RL_SHARE_CLASSES])
{
	struct rl_parts n = {.packet = packet};
	double step_s = fmax(SHARE_STEP_NS / 1e9, SHARE_STEP_AMOUNT * packet / rate);

	step_s = fmin(step_s, SIM_STEP_MS_MAX / 1e3);
	n.step_ns = (uint32_t)(ceil(step_s * 1e9 / (double)tick_ns) * (double)tick_ns);
	n.room = (uint64_t)(0.97 * rate * n.step_ns / 1e9 * SHARE_ONE);
	n.gcra.cost_shift = 20;
	n.gcra.cost = (uint64_t)(16e9 / rate * (1 << n.gcra.cost_shift));
	n.gcra.capacity = (uint64_t)(fmax(rate / 10, packet) * 16e9 / rate);
	n.gcra.cost_max = 1 << 20;
	memcpy(n.weight, weight, sizeof(n.weight));
	return n;
}

static inline void sim_start(struct sim *sim, const struct rl_parts *n, double rate,
			     uint64_t tick_ns, uint64_t seed)
{
	memset(sim, 0, sizeof(*sim));
	sim->n = *n;
	sim->rate = rate;
	sim->tick_ns = tick_ns;
	sim->seed = sim->random = sim_hash(seed + 1);
}

static inline void sim_step(struct sim *sim, uint64_t now)
{
	if (sim->s.early == RL_SHARE_LOOK)
		share_look_early(&sim->s, &sim->n, (const __u64 *)sim->arrived,
				 (const __u64 *)sim->admitted);
	if (!share_step_ends(&sim->s, &sim->n, now))
		return;
	sim->uneasy += share_end_step(&sim->s, &sim->n, (const __u64 *)sim->arrived,
				      (const __u64 *)sim->admitted, sim->s.began_ns, now);
	sim->s.began_ns = now;
	sim->steps++;
}

static inline bool sim_stranger(struct sim *sim, const struct sim_packet *p, uint64_t now)
{
	uint64_t who = sim_hash(p->source ^ sim->seed);
	uint64_t epoch = (now + (who & ((1ull << SHARE_DRAW_SHIFT) - 1))) >> SHARE_DRAW_SHIFT;
	struct rl_bin *const rows[RL_ROWS] = {
		&sim->bins[sim_hash(p->pattern ^ sim->seed) % RL_BINS_PATTERN],
		&sim->bins[RL_BINS_PATTERN + sim_hash(p->network ^ sim->seed) % RL_BINS_NETWORK],
		&sim->bins[RL_BINS_PATTERN + RL_BINS_NETWORK +
			   sim_hash(p->port ^ sim->seed) % RL_BINS_PORT],
	};

	return share_stranger_admits(&sim->s, rows, &sim->n, p->amount, now,
				     (uint32_t)sim_hash(who + epoch), (uint32_t)sim_random(sim));
}

/* level: of the sender's bucket, before. */
static inline bool sim_share(struct sim *sim, const struct sim_packet *p, uint64_t now,
			     uint64_t *level)
{
	struct rl_share_part *part = &sim->s.part[p->class];
	uint32_t hash = (uint32_t)sim_hash(p->source ^ sim->seed);

	if (p->class == RL_SHARE_STRANGER)
		return sim_stranger(sim, p, now);
	share_see(part, hash);
	if (!share_is_open(part))
		*level = share_level(sim->senders[p->source],
				     share_clock(&sim->s, part, sim->n.step_ns, now));
	return share_is_open(part) ||
	       share_sender_admits(&sim->s, part, &sim->n, (__u64 *)&sim->senders[p->source], hash,
				   p->amount, now);
}

/* The exact bucket: how high it ever stood. */
static inline void sim_passed(struct sim *sim, uint64_t now, uint32_t amount)
{
	sim->passed += amount;
	sim->level -= sim->rate * (double)(now - sim->level_ns) / 1e9;
	sim->level = fmax(sim->level, 0) + amount;
	sim->level_ns = now;
	sim->highest = fmax(sim->highest, sim->level);
}

/* Does the packet pass the classes and the limit? */
static inline bool sim_offer(struct sim *sim, const struct sim_packet *p, uint64_t time_ns)
{
	uint64_t now = time_ns / sim->tick_ns * sim->tick_ns;
	struct rl_share_part *part = &sim->s.part[p->class];
	uint64_t level = 0;
	bool asked;
	__u64 taken;

	sim_step(sim, now);
	asked = now < sim->s.busy_ns;
	sim->arrived[asked ? p->class : RL_SHARE_UNASKED] += p->amount;
	if (asked && !sim_share(sim, p, now, &level))
		return false;
	sim->admitted[asked ? p->class : RL_SHARE_UNASKED] += p->amount;
	if (asked && !share_has_room(&sim->s, part, &sim->n, p->amount, level, now)) {
		if (share_is_open(part) && sim->s.early == RL_SHARE_UNLOOKED)
			sim->s.early = RL_SHARE_LOOK;
		return false;
	}
	if (!gcra_consume(&sim->n.gcra, (__u64 *)&sim->word, gcra_now(now), p->amount, &taken))
		return false;
	sim_passed(sim, now, p->amount);
	return true;
}

/* ---- exact shares, in doubles and by bisection */

/* The fair rate of some groups of senders, `count` of `rate` each, that divide the room. */
static inline double exact_pace(double room, const double *rate, const double *count, int groups)
{
	double low = 0, high = room;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2, sum = 0;

		for (int k = 0; k < groups; k++)
			sum += count[k] * fmin(rate[k], middle);
		if (sum < room)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The level of water at which sum of min(demand, weight * level) is the room. */
static inline void exact_rooms(double room, const double *demand, const uint8_t *weight,
			       double *rooms)
{
	double low = 0, high = room * 100, sum = 0;

	for (int i = 0; i < 200; i++) {
		double level = (low + high) / 2;

		sum = 0;
		for (int k = 0; k < RL_SHARE_CLASSES; k++)
			sum += fmin(demand[k], weight[k] * level);
		if (sum < room)
			low = level;
		else
			high = level;
	}
	for (int k = 0; k < RL_SHARE_CLASSES; k++)
		rooms[k] = fmin(demand[k], weight[k] * high);
}
