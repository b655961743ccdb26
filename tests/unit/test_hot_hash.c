// SPDX-License-Identifier: GPL-2.0-only
/* Placement of keys in the hot table: fingerprints differ, sets are used evenly, and a sender that
 * does not know the seed cannot choose keys that share a set, whatever it knows of the arithmetic.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/hot_key.h"
#include "cases.h"
#include "random.h"
#include "turns.h"

static uint64_t seed_state = 20250711;

static uint64_t any(void)
{
	return random_next(&seed_state);
}

/* An address as two words of memory, IPv4 mapped; the upper word of IPv4 is not hashed. */
struct address {
	__u64 high, low;
};

static __u64 word_of(const uint8_t bytes[8])
{
	__u64 word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static struct address ip4(uint32_t host)
{
	uint8_t bytes[8] = {0, 0, 0xff, 0xff, host >> 24, host >> 16, host >> 8, host};

	return (struct address){0, word_of(bytes)};
}

static struct address ip6(uint64_t network, uint64_t host)
{
	uint8_t bytes[16];

	for (int i = 0; i < 8; i++) {
		bytes[7 - i] = network >> 8 * i;
		bytes[15 - i] = host >> 8 * i;
	}
	return (struct address){word_of(bytes), word_of(bytes + 8)};
}

/* ---- senders: the n-th address */

static struct address hosts_in_a_row(uint32_t n)
{
	return ip4(0x0a000000 + n);
}

static struct address one_host_of_each_net(uint32_t n)
{
	return ip4((0x0a0000 + n) << 8 | 1);
}

static struct address every_sixteenth(uint32_t n)
{
	return ip4(0x0a000000 + 16 * n);
}

static struct address random_hosts(uint32_t n)
{
	return ip4(n * 2654435761u);
}

static struct address networks_in_a_row(uint32_t n)
{
	return ip6(0x20010db800000000 + n, 0);
}

static struct address hosts_of_a_network(uint32_t n)
{
	return ip6(0x20010db800000000, n);
}

static struct address networks_of_providers(uint32_t n)
{
	return ip6(0x2001000000000000 + ((uint64_t)n << 32), 0);
}

static const struct crowd {
	const char *name;
	struct address (*address)(uint32_t n);
	bool hosts; /* of one IPv6 network: where networks count, they are one */
} crowds[] = {
	{"IPv4 hosts in a row", hosts_in_a_row, false},
	{"one IPv4 host of each net", one_host_of_each_net, false},
	{"every sixteenth IPv4 host", every_sixteenth, false},
	{"random IPv4 hosts", random_hosts, false},
	{"IPv6 networks in a row", networks_in_a_row, false},
	{"IPv6 hosts of one network", hosts_of_a_network, true},
	{"IPv6 networks far apart", networks_of_providers, false},
};

/* As most keys are hashed: an IPv4 address, or the network of an IPv6 address. */
static __u64 hash_of_word(const __u64 seed[2], struct address a)
{
	return hot_hash_word(seed, !a.high, a.high ? a.high : a.low);
}

static __u64 hash_of_all(const __u64 seed[2], struct address a)
{
	return hot_hash(seed, a.high, a.low);
}

static __u64 (*hash)(const __u64 seed[2], struct address a) = hash_of_all;

static struct hot_key key_of(const __u64 seed[2], struct address a, __u32 limit, __u32 lane,
			     __u32 sets)
{
	return hot_key_of(hash(seed, a), hot_key_rest(limit, 0, 0), lane, sets - 1);
}

static void seed_draw(__u64 seed[2])
{
	seed[0] = any();
	seed[1] = any();
}

/* ---- sets are used evenly */

/* Pearson's X² of the sets' use. */
static double unevenness(const uint32_t *used, uint32_t sets, uint32_t keys)
{
	double expected = (double)keys / sets, sum = 0;

	for (uint32_t i = 0; i < sets; i++)
		sum += (used[i] - expected) * (used[i] - expected) / expected;
	return sum;
}

/* For chance the mean is the number of sets, the variance twice that: seven deviations are never
 * seen. */
static void assert_even(const uint32_t *used, uint32_t sets, uint32_t keys)
{
	double over = unevenness(used, sets, keys) - sets;

	if (over > 0 && over * over > 49 * 2.0 * sets)
		fail_msg("%u keys lie unevenly in %u sets: %.0f over", keys, sets, over);
}

static void even_test(void **arg)
{
	static const uint32_t sizes[] = {256, 1024, 65536};
	const struct crowd *crowd = *arg;
	uint32_t *used = calloc(65536, sizeof(*used));

	assert_non_null(used);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(sizes); i++) {
		uint32_t sets = sizes[i / 4], keys = 4 * sets;
		__u64 seed[2];

		seed_draw(seed);
		memset(used, 0, sets * sizeof(*used));
		for (uint32_t n = 0; n < keys; n++)
			used[key_of(seed, crowd->address(n), 1, 0, sets).set]++;
		assert_even(used, sets, keys);
	}
	free(used);
}

/* ---- fingerprints differ */

#define KEYS TURNS(10000000u)

/* The adjacent equal ones of many words, by radix sort. */
static uint32_t equal_pairs(__u64 *words, uint32_t count)
{
	__u64 *other = malloc(count * sizeof(*other)), *from = words, *to = other;
	uint32_t pairs = 0;

	assert_non_null(other);
	for (int shift = 0; shift < 64; shift += 16) {
		static uint32_t place[65537];
		__u64 *swap = from;

		memset(place, 0, sizeof(place));
		for (uint32_t i = 0; i < count; i++)
			place[(from[i] >> shift & 0xffff) + 1]++;
		for (int i = 0; i < 65536; i++)
			place[i + 1] += place[i];
		for (uint32_t i = 0; i < count; i++)
			to[place[from[i] >> shift & 0xffff]++] = from[i];
		from = to;
		to = swap;
	}
	for (uint32_t i = 1; i < count; i++)
		pairs += from[i] == from[i - 1];
	free(other);
	return pairs;
}

/* Addresses of all crowds together, under one limit per crowd. */
static void unequal_test(void **arg)
{
	__u64 *prints = malloc(KEYS * sizeof(*prints)), seed[2];
	uint32_t count = 0;

	(void)arg;
	assert_non_null(prints);
	seed_draw(seed);
	for (uint32_t n = 1000; count < KEYS; n++)
		for (size_t c = 0; c < ARRAY_SIZE(crowds) && count < KEYS; c++) {
			__u32 limit = 1 + c; /* some addresses are in two crowds */

			if (hash == hash_of_word && crowds[c].hosts)
				continue;
			prints[count++] =
				key_of(seed, crowds[c].address(n), limit, 0, 65536).fingerprint;
		}
	assert_int_equal(equal_pairs(prints, KEYS), 0);
	free(prints);
}

/* The keys of one address under a million limits, and with every destination port. */
static void unequal_rest_test(void **arg)
{
	uint32_t count = 0, limits = 1 << 20, most = limits + 65536;
	__u64 *rests = malloc(most * sizeof(*rests));

	(void)arg;
	assert_non_null(rests);
	for (uint32_t limit = 0; limit < limits; limit++)
		rests[count++] = hot_key_rest(limit, 0, 0) & ~HOT_FLAGS;
	for (uint32_t port = 1; port < 65536; port++)
		rests[count++] = hot_key_rest(1, 0, port) & ~HOT_FLAGS;
	assert_int_equal(equal_pairs(rests, count), 0);
	free(rests);
}

/* Lanes are neighbouring sets. */
static void lanes_test(void **arg)
{
	__u64 seed[2] = {1, 2};

	(void)arg;
	for (__u32 lane = 0; lane < RL_LANES; lane++) {
		struct hot_key first = key_of(seed, ip4(0x01020304), 7, 0, 1024);
		struct hot_key key = key_of(seed, ip4(0x01020304), 7, lane, 1024);

		assert_int_equal(key.set, first.set ^ lane);
		assert_int_equal(key.fingerprint & HOT_FLAGS, 0);
		assert_true(key.fingerprint == first.fingerprint);
	}
}

/* ---- an attacker who knows all but the seed */

#define SETS 1024u
#define GANG 4096u

/* Addresses that share a set under seed 0, or under another guessed seed, do not under ours. */
static void gang_test(void **arg)
{
	static const __u64 guesses[][2] = {{0, 0}, {1, 0}, {0, 1}, {~0ull, ~0ull}};
	uint32_t used[SETS] = {0};

	(void)arg;
	for (size_t g = 0; g < ARRAY_SIZE(guesses); g++) {
		uint32_t found = 0;
		__u64 seed[2];

		seed_draw(seed);
		memset(used, 0, sizeof(used));
		for (uint32_t n = 0; found < GANG; n++) {
			struct address a = random_hosts(n);

			if (key_of(guesses[g], a, 1, 0, SETS).set)
				continue;
			found++;
			used[key_of(seed, a, 1, 0, SETS).set]++;
		}
		assert_even(used, SETS, GANG);
	}
}

/* How often two addresses with this difference have the same hash, over random seeds. */
static uint32_t meetings(__u64 high, __u64 low)
{
	uint32_t met = 0;

	for (int i = 0; i < 64; i++) {
		__u64 seed[2], a = any(), b = any();

		seed_draw(seed);
		met += hot_hash(seed, a, b) == hot_hash(seed, a ^ high, b ^ low);
	}
	return met;
}

/* No difference of one or two bits in each half cancels out: one that did would give an address a
 * twin, with its limits and its prefix's verdict, under every seed. */
NAMED_TEST("no address has a twin", twins_test)
{
	assert_int_equal(meetings(1ull << 63, 1ull << 63 | 1ull << 31), 0);
	for (int a = 0; a < 64; a++)
		for (int b = 0; b < 64; b++)
			for (int c = b; c < 64; c++)
				assert_int_equal(meetings(1ull << a, 1ull << b | 1ull << c), 0);
}

/* How many of so many pairs of IPv4 hosts that differ so share a set. */
static uint32_t companions(uint32_t difference, uint32_t tries)
{
	uint32_t shared = 0;

	for (uint32_t i = 0; i < tries; i++) {
		uint32_t host = any();
		__u64 seed[2];

		seed_draw(seed);
		shared += key_of(seed, ip4(host), 1, 0, SETS).set ==
			  key_of(seed, ip4(host ^ difference), 1, 0, SETS).set;
	}
	return shared;
}

/* No difference of one or two bits leads to the same set ten times as often as chance. */
static void companions_test(void **arg)
{
	(void)arg;
	for (int a = 0; a < 32; a++)
		for (int b = a; b < 32; b++)
			assert_true(companions(1u << a | 1u << b, 4 * SETS) < 40);
}

/* An IPv6 network that looks like a mapped IPv4 address is hashed differently. */
NAMED_TEST("families differ", families_test)
{
	for (int i = 0; i < 1000; i++) {
		__u64 seed[2], word = ip4(any()).low;

		seed_draw(seed);
		assert_true(hot_hash_word(seed, true, word) != hot_hash_word(seed, false, word));
	}
}

static int of_two_words(void **state)
{
	(void)state;
	hash = hash_of_all;
	return 0;
}

static int of_one_word(void **state)
{
	(void)state;
	hash = hash_of_word;
	return 0;
}

static void hash_add(CMFixtureFunction set_up)
{
	static const struct CMUnitTest tests[] = {
		{"10 million fingerprints differ", unequal_test, NULL, NULL, NULL},
		{"limits and ports differ", unequal_rest_test, NULL, NULL, NULL},
		{"lanes are neighbouring sets", lanes_test, NULL, NULL, NULL},
		{"those that met under another seed", gang_test, NULL, NULL, NULL},
		{"no two addresses keep company", companions_test, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++)
		if (set_up == of_two_words || !crowds[i].hosts)
			test_add((struct CMUnitTest){crowds[i].name, even_test, set_up, NULL,
						     (void *)&crowds[i]});
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		test_add(
			(struct CMUnitTest){tests[i].name, tests[i].test_func, set_up, NULL, NULL});
}

AT_START(hashes_add)
{
	hash_add(of_two_words);
	hash_add(of_one_word);
}
