// SPDX-License-Identifier: GPL-2.0-only
/* The table of open connections, bpf/algorithm/connections.h, against plain counts. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "algorithm/connections.h"
#include "cases.h"
#include "random.h"

#define SETS 256u
#define KEYS 1500u

static struct rl_connection_set sets[SETS];

static uint64_t hash_of(uint64_t key)
{
	static const __u64 seed[2] = {0x8f3c1f6be2a90d57, 0x51d7a0b3c4e28f69};

	return hot_hash(seed, 7, key);
}

static struct rl_connection_set *set_at(uint64_t hash, bool second)
{
	return &sets[connection_set_of(hash, SETS - 1, second)];
}

static uint64_t count_of(uint64_t hash)
{
	return connection_set_count(set_at(hash, false), hash) +
	       connection_set_count(set_at(hash, true), hash);
}

static bool add(uint64_t hash)
{
	return connection_add(set_at(hash, false), set_at(hash, true), hash);
}

static bool take(uint64_t hash)
{
	return connection_take(set_at(hash, false), set_at(hash, true), hash);
}

static int setup(void **state)
{
	(void)state;
	memset(sets, 0, sizeof(sets));
	return 0;
}

TEST(the_two_sets_of_a_key_differ)
{
	for (uint64_t key = 0; key < 10000; key++)
		for (uint64_t mask = 1; mask <= 0xfffff; mask = mask << 1 | 1) {
			uint64_t hash = hash_of(key), a = connection_set_of(hash, mask, false),
				 b = connection_set_of(hash, mask, true);

			assert_true(a <= mask && b <= mask);
			assert_int_not_equal(a, b);
		}
}

/* Keys come and go in any order; the table always says what plain counts say. */
TEST(counts_are_exact, setup)
{
	static uint32_t wanted[KEYS];
	uint64_t random = 41;

	memset(wanted, 0, sizeof(wanted));
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t key = random_under(&random, KEYS);
		uint64_t hash = hash_of(key);

		if (wanted[key] && random_under(&random, 2)) {
			assert_true(take(hash));
			wanted[key]--;
		} else if (add(hash)) {
			wanted[key]++;
		} else {
			fail_msg("no room for key %u", key);
		}
		assert_int_equal(count_of(hash), wanted[key]);
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		for (; wanted[key]; wanted[key]--)
			assert_true(take(hash_of(key)));
		assert_int_equal(count_of(hash_of(key)), 0);
		assert_false(take(hash_of(key)));
	}
	for (uint32_t i = 0; i < SETS; i++)
		for (int way = 0; way < RL_CONNECTION_WAYS; way++)
			assert_int_equal(sets[i].way[way] & CONNECTION_COUNT, 0);
}

/* All keys find room until seven of ten ways are taken, and those that have it stay exact. */
TEST(a_full_table_refuses, setup)
{
	uint32_t taken = 0, refused = 0;

	for (uint64_t key = 0; key < 2 * SETS * RL_CONNECTION_WAYS; key++)
		if (add(hash_of(key)))
			taken++;
		else if (!refused)
			refused = taken;
	assert_true(refused >= SETS * RL_CONNECTION_WAYS * 7 / 10);
	assert_true(taken <= SETS * RL_CONNECTION_WAYS);
	for (uint64_t key = 0; key < refused; key++)
		assert_int_equal(count_of(hash_of(key)), 1);
}

/* As two CPUs leave it that add one key at once. */
TEST(a_key_with_two_ways, setup)
{
	uint64_t hash = hash_of(1), way = (hash & ~CONNECTION_COUNT) | 1;

	set_at(hash, false)->way[3] = way;
	set_at(hash, true)->way[5] = way;
	assert_int_equal(count_of(hash), 2);
	assert_true(take(hash) && take(hash));
	assert_int_equal(count_of(hash), 0);
	assert_false(take(hash));
}

TEST(a_count_does_not_overflow, setup)
{
	uint64_t hash = hash_of(2);

	set_at(hash, false)->way[0] = hash | CONNECTION_COUNT;
	assert_false(add(hash));
	assert_int_equal(count_of(hash), CONNECTION_COUNT);
}

/* ---- keys and rules */

static struct connection connection_ipv4(uint32_t src, uint16_t dport)
{
	struct connection c = {.sport = 40000, .dport = dport};
	const uint32_t words[4] = {0, 0, htobe32(0xffff), htobe32(src)};

	memcpy(c.src, words, sizeof(c.src));
	memcpy(c.dst, words, sizeof(c.dst));
	return c;
}

static bool same_key(const struct rl_limit *limit, const struct connection *a,
		     const struct connection *b)
{
	const __u64 seed[2] = {1, 2};

	return connection_hash(seed, 7, limit, a) == connection_hash(seed, 7, limit, b);
}

TEST(keys_are_made_of_their_parts)
{
	struct rl_limit net = {.key = RL_KEY_SOURCE, .key_len4 = 24, .key_len6 = 64};
	struct rl_limit dport = {.key = RL_KEY_PARTS, .key_parts = RL_PART_DPORT};
	struct rl_limit rule = {.key = RL_KEY_RULE};
	struct connection a = connection_ipv4(0xc0000201, 443), b = connection_ipv4(0xc00002fe, 80),
			  c = connection_ipv4(0xc0000301, 443);

	assert_true(same_key(&net, &a, &b));
	assert_false(same_key(&net, &a, &c));
	assert_true(same_key(&dport, &a, &c));
	assert_false(same_key(&dport, &a, &b));
	assert_true(same_key(&rule, &a, &b) && same_key(&rule, &a, &c));
}

TEST(a_limit_counts_what_its_rule_matches)
{
	struct rl_connection_limit limit = {.dport_count = 2,
					    .dport = {{80, 80}, {440, 450}},
					    .prefix_family = 4,
					    .prefix_len = 120};
	struct connection a = connection_ipv4(0xc0000201, 443), b = connection_ipv4(0xc0000201, 81),
			  c = connection_ipv4(0xc0000301, 443);

	memcpy(limit.prefix, a.src, sizeof(limit.prefix));
	assert_true(connection_is_of(&limit, &a));
	assert_false(connection_is_of(&limit, &b));
	assert_false(connection_is_of(&limit, &c));
	limit.prefix_family = 6;
	assert_false(connection_is_of(&limit, &a));
}
