// SPDX-License-Identifier: GPL-2.0-only
/* Unconfirmed keys, of limits whose state is larger than a word: strangers get no state, a source
 * that comes back gets one that counts the packets it sent before, and beyond the budget of
 * creations a key is held to the limit's rate.
 */
#include <sched.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/units.h"
#include "harness.h"

#define STRANGERS 2000
#define SOURCES   4096u /* a quarter of so many states may be made in a second */

static const struct row {
	const char *limit;
	uint32_t n;    /* packets in a second, when they come at once */
	uint32_t most; /* packets in within_ms, however they come */
	uint32_t within_ms;
} rows[] = {
	{"fixed-window 5/s", 5, 10, 1000}, /* across the edge of two windows */
	{"sliding-window 5/s", 5, 5, 900}, /* but for a slot */
	{"sliding-window 5/s slots 2", 5, 5, 500},
	{"sliding-log 5/s", 5, 5, 1000},
	{"fixed-window 1/s", 1, 2, 1000},
	{"sliding-log 1/s", 1, 1, 1000},
	{"fixed-window 5/s per source+dport", 5, 10, 1000},
	{"sliding-log 5/s per flow", 5, 5, 1000},
};

static const struct lasting {
	const char *rule;
	uint32_t sources;
} lastings[] = {
	{"any limit fixed-window 5/m", 8192},
	{"any limit sliding-window 5/m", 8192},
	{"any limit sliding-log 5/m", SOURCES_DEFAULT},
	{"any limit fixed-window 5/m per flow", 8192},
};

static struct harness *begin(uint32_t sources, const char *limit)
{
	struct harness_options options = {.sources = sources, .seed = {21, 34}};
	struct harness *h = harness_must_open(&options);
	char rule[128];

	snprintf(rule, sizeof(rule), "any limit %s", limit);
	harness_policy(h, rule);
	return h;
}

/* ---- how many states there are in the LRUs */

static uint32_t map_count(int fd)
{
	struct rl_state_key key;
	uint32_t count = 0;
	void *from = NULL;

	while (!bpf_map_get_next_key(fd, from, &key)) {
		from = &key;
		count++;
	}
	return count;
}

static uint32_t count_of(const struct harness *h, enum policy_map map)
{
	int fd = policy_map_open(&h->instance, map);
	uint32_t count;

	if (fd < 0)
		return 0;
	count = map_count(fd);
	close(fd);
	return count;
}

static uint32_t states(const struct harness *h)
{
	return map_count(h->policy_maps[POLICY_MAP_sources]) + count_of(h, POLICY_MAP_flows) +
	       count_of(h, POLICY_MAP_windows) + count_of(h, POLICY_MAP_logs);
}

/* ---- */

static void stranger_test(void **state)
{
	const struct row *row = *state;
	struct harness *h = begin(SOURCES, row->limit);
	uint8_t addr[16];

	for (uint32_t i = 0; i < STRANGERS; i++) {
		address_ip4(addr, i);
		assert_int_equal(harness_within(h, addr, 1), 1);
	}
	assert_int_equal(states(h), 0);
	harness_close(h);
}

/* Two packets make a state, unless the second is refused; all that the limit admits is counted. */
static void back_from(const struct row *row, uint64_t start_ns)
{
	struct harness *h = begin(SOURCES, row->limit);
	uint8_t addr[16];

	harness_clock(h, start_ns);
	for (uint32_t i = 0; i < 100; i++) {
		address_ip4(addr, i);
		assert_int_equal(harness_within(h, addr, 1), 1);
		harness_clock(h, h->now_ns + NS_PER_MS);
		assert_int_equal(harness_within(h, addr, 9), row->n - 1);
		assert_int_equal(states(h), row->n > 1 ? i + 1 : 0);
	}
	harness_clock(h, h->now_ns + NS_PER_SECOND);
	for (uint32_t i = 0; i < 100; i++) {
		address_ip4(addr, i);
		assert_int_equal(harness_within(h, addr, 9), row->n);
	}
	harness_close(h);
}

static void back_test(void **state)
{
	back_from(*state, NS_PER_DAY);
}

/* In the first window since the machine started. */
static void boot_test(void **state)
{
	back_from(*state, 0);
}

/* Strangers that come back at once spend the budget: a source that arrives then is held to a packet
 * each fifth of a second, until it has been silent or the strangers have gone. */
static void budget_test(void **state)
{
	const struct row *row = *state;
	struct harness *h = begin(SOURCES, row->limit);
	uint32_t stranger = 1000, got[4] = {0};
	uint8_t addr[16], who[16];

	address_ip4(who, 1);
	for (uint32_t ms = 0; ms < 4000; ms++) {
		if (ms == 3000) /* no strangers any more */
			harness_clock(h, h->now_ns + 2 * NS_PER_SECOND);
		harness_clock(h, h->now_ns + NS_PER_MS);
		for (int i = 0; i < (ms ? 2 : 1500) && ms < 3000; i++) {
			address_ip4(addr, stranger++);
			harness_within(h, addr, 2);
		}
		got[ms / 1000] += harness_within(h, who, 1);
	}
	for (int second = 0; second < 3; second++)
		assert_in_range(got[second], row->n > 1 ? 4 : 1,
				row->n + (row->within_ms < 1000)); /* a slot more */
	assert_in_range(got[3], row->n, row->n + (row->within_ms < 1000));
	assert_true(states(h) <= 4 * SOURCES / 4 / h->instance.info.cpus + 1);
	harness_close(h);
}

/* The packets a source sent are remembered for three seconds, however many strangers come back
 * meanwhile and however small its LRU is. */
static void lasts_test(void **state)
{
	const struct lasting *lasting = *state;
	struct harness_options options = {.sources = lasting->sources, .log_depth = 1024};
	struct harness *h = harness_must_open(&options);
	uint8_t who[16], addr[16];
	uint32_t stranger = 1000;

	harness_policy(h, lasting->rule);
	address_ip4(who, 1);
	assert_int_equal(harness_within(h, who, 6), 5);
	for (uint32_t ms = 0; ms < 2900; ms++) {
		for (int i = 0; i < 4; i++) {
			address_ip4(addr, stranger++);
			harness_within(h, addr, 2);
		}
		harness_clock(h, h->now_ns + NS_PER_MS);
	}
	assert_int_equal(harness_within(h, who, 6), 0);
	harness_close(h);
}

/* However sources come, go and come back, none gets in more than its limit admits, but for a packet
 * where the hot table had no room or the budget was spent. */
static void bound_test(void **state)
{
	const struct row *row = *state;
	struct harness *h = begin(64, row->limit);
	uint64_t seed = 99, times[64] = {0};
	uint32_t most = row->most + 1, next = 0;
	uint8_t addr[16];

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t who = random_under(&seed, 24);

		harness_clock(h, h->now_ns + random_under(&seed, 4) * NS_PER_MS);
		address_ip4(addr, who);
		if (!harness_within(h, addr, 1) || who)
			continue;
		assert_true(next < most ||
			    h->now_ns - times[(next - most) % 64] >= row->within_ms * NS_PER_MS);
		times[next++ % 64] = h->now_ns;
	}
	assert_true(next > 20);
	harness_close(h);
}

/* A warm-up's second packet waits for the cold interval, and the third for the rest of it. */
NAMED_TEST("warm-up", warm_up_test)
{
	struct harness *h = begin(SOURCES, "warm-up 10/second ramp 10s cold 3");
	uint8_t addr[16];

	address_ip4(addr, 1);
	assert_int_equal(harness_within(h, addr, 3), 1);
	harness_clock(h, h->now_ns + 297 * NS_PER_MS);
	assert_int_equal(harness_within(h, addr, 3), 0);
	assert_int_equal(states(h), 0);
	harness_clock(h, h->now_ns + 2 * NS_PER_MS);
	assert_int_equal(harness_within(h, addr, 3), 1);
	assert_int_equal(states(h), 1);
	harness_clock(h, h->now_ns + 280 * NS_PER_MS);
	assert_int_equal(harness_within(h, addr, 3), 0);
	harness_clock(h, h->now_ns + 20 * NS_PER_MS);
	assert_int_equal(harness_within(h, addr, 3), 1);
	harness_close(h);
}

/* In bytes a first packet's length is not remembered: the state is made at once, within the budget;
 * beyond it a packet is let in whenever the longest one would have been paid for. */
NAMED_TEST("in bytes", bytes_test)
{
	struct harness *h = begin(SOURCES, "fixed-window 6000byte/s"); /* of 42 bytes: 142 */
	uint32_t within, got[2] = {0};
	uint8_t addr[16];

	address_ip4(addr, 1);
	within = harness_within(h, addr, 300);
	assert_in_range(within, 50, 142);
	assert_int_equal(states(h), 1);
	for (uint32_t i = 1000; i < 4000; i++) { /* they spend the budget */
		address_ip4(addr, i);
		harness_within(h, addr, 1);
	}
	address_ip4(addr, 2);
	for (uint32_t ms = 0; ms < 2000; ms++) {
		got[ms / 1000] += harness_within(h, addr, 2);
		for (uint32_t i = 0; i < 2; i++) {
			uint8_t other[16];

			address_ip4(other, 10000 + 2 * ms + i);
			harness_within(h, other, 1);
		}
		harness_clock(h, h->now_ns + NS_PER_MS);
	}
	assert_in_range(got[0], 3, 4); /* 6000 bytes hold so many full packets */
	assert_in_range(got[1], 3, 4);
	harness_clock(h, h->now_ns + 3 * NS_PER_SECOND);
	assert_int_equal(harness_within(h, addr, 300), within);
	harness_close(h);
}

/* ---- */

static const struct {
	const char *name;
	void (*run)(void **state);
} kinds[] = {
	{"strangers make no state", stranger_test},
	{"who comes back is known", back_test},
	{"who comes back, right after the start", boot_test},
	{"beyond the budget", budget_test},
	{"never more than the limit", bound_test},
};

AT_START(kinds_add)
{
	cpu_stay(sched_getcpu()); /* the budget is each CPU's */
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
			test_add_named(kinds[k].run, &rows[r], "%s: %s", kinds[k].name,
				       rows[r].limit);
	for (size_t i = 0; i < ARRAY_SIZE(lastings); i++)
		test_add_named(lasts_test, &lastings[i], "lasts in a flood: %s", lastings[i].rule);
}
