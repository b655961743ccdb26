// SPDX-License-Identifier: GPL-2.0-only
/* Sources chosen by an attacker who knows everything but the seed: those that share a set of the
 * hot table, and of the cache in front of the trie, under seed 0. An instance with that seed would
 * let them evict one another; under a random seed they are scattered like any others.
 */
#include <bpf/bpf.h>
#include <sys/random.h>

#include "base/units.h"
#include "harness.h"

#define CROWD   64
#define SOURCES 4096 /* 1024 sets of four */

/* Five of 64 in one of 1024 sets by chance: one run in 140,000. */
#define BY_CHANCE 2

static struct harness *known, *drawn;

/* The first alone has answers of the trie to keep. */
static const struct row {
	const char *name, *rules;
	bool ipv6, cached;
} rows[] = {
	{"IPv4 behind a prefix", "10.0.0.0/8 limit 1/h burst 4", false, true},
	{"IPv4", "any limit 1/h burst 4", false, false},
	{"IPv6", "any limit leaky-bucket 1/h queue 4", true, false},
	{"a window", "any limit fixed-window 4/h", false, false},
};

static struct harness *rig_of(uint64_t first, uint64_t second)
{
	return harness_open(&(struct harness_options){
		.sources = SOURCES, .table = RL_TABLE_HOT, .seed = {first, second}});
}

/* The attacker's computation: the first so many addresses of set 0. */
static void crowd_choose(struct harness *h, const struct row *row, uint8_t (*out)[16])
{
	struct rl_rule numbers = harness_numbers(h, 0);
	uint32_t found = 0;

	for (uint32_t i = 1; found < CROWD; i++) {
		if (row->ipv6)
			address_ip6(out[found], i, 1);
		else
			address_ip4(out[found], i);
		found += harness_key(h, &numbers, out[found]).set == 0;
	}
}

/* Counts the sources that were evicted with a debt. */
static uint64_t crowd_send(struct harness *h, const struct row *row, uint8_t (*crowd)[16])
{
	uint64_t before = harness_pressure(h, RL_PRESSURE_EVICTIONS);
	struct frame frame;

	frame_build(&frame, row->ipv6 ? "ip6 udp" : "ip4 udp");
	for (uint32_t i = 0; i < CROWD; i++) {
		frame_source(&frame, crowd[i]);
		assert_int_equal(harness_run(h, &frame), RL_REASON_WITHIN);
	}
	return harness_pressure(h, RL_PRESSURE_EVICTIONS) - before;
}

/* Counts the cached answers of the trie that are left. */
static uint32_t cached(const struct harness *h)
{
	uint64_t set[RL_HOT_WAYS][2];
	uint32_t count = 0;

	for (uint32_t i = 0; i < h->instance.info.cache_sets; i++) {
		assert_int_equal(
			bpf_map_lookup_elem(h->policy_maps[POLICY_MAP_prefix_cache], &i, set), 0);
		for (int way = 0; way < RL_HOT_WAYS; way++)
			count += set[way][0] || set[way][1];
	}
	return count;
}

static void policies_put(const struct row *row)
{
	struct harness *both[] = {known, drawn};

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		harness_clock(both[i], both[i]->now_ns + NS_PER_DAY); /* no debts are left */
		harness_policy(both[i], row->rules);
	}
}

ROWS(meet_test, rows, row)
{
	uint8_t crowd[CROWD][16];

	policies_put(row);
	crowd_choose(known, row, crowd);
	assert_int_equal(crowd_send(known, row, crowd), CROWD - RL_HOT_WAYS);
	assert_in_range(crowd_send(drawn, row, crowd), 0, BY_CHANCE);
	if (!row->cached)
		return;
	assert_int_equal(cached(known), RL_HOT_WAYS);
	assert_in_range(cached(drawn), CROWD - BY_CHANCE, CROWD);
}

static int rigs_open(void **state)
{
	uint64_t seed[2];

	(void)state;
	cpu_stay(0);
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return -1;
	known = rig_of(0, 0);
	drawn = rig_of(seed[0], seed[1]);
	return known && drawn ? 0 : -1;
}

static int rigs_close(void **state)
{
	(void)state;
	harness_close(known);
	harness_close(drawn);
	return 0;
}

FIXTURE(rigs_open, rigs_close)
