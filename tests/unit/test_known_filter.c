// SPDX-License-Identifier: GPL-2.0-only
/* The filter of known sources: whoever sent within 300 s has a bit, whatever the others do, also
 * where the clocks of two CPUs differ; whoever has been silent for five epochs has none.
 * check: alone
 */
#include <pthread.h>
#include <sched.h>

#include "algorithm/known_filter.h"
#include "cases.h"
#include "random.h"
#include "turns.h"

#define EPOCH   (3ull << KNOWN_EPOCH_SHIFT)
#define TICK    10000000ull /* the longest: 100 a second */
#define SOURCES 40          /* of one set, which has 56 bits */
#define SENDS   TURNS(2000000)
#define ROUNDS  TURNS(200000)

static bool may(const struct rl_known_set *set, uint64_t bit, uint64_t now_ns)
{
	return known_has(set, bit) && known_may(set, bit, known_epoch(now_ns));
}

static void put(struct rl_known_set *set, uint64_t bit, uint64_t now_ns)
{
	known_put(set, bit, known_epoch(now_ns));
}

/* ---- never a false no */

/* Sources that come in at random, each again after a while of the row. */
static const struct row {
	const char *name;
	uint64_t begin_ns, step_ns; /* from one packet to the next: up to that */
	uint64_t skew_ns;           /* between the two CPUs */
} rows[] = {
	{"busy", 1, 1000000000, 0},
	{"a tick apart", 1, 1000000000, TICK},
	{"about as long as sources are known", 86400000000000, 2 * KNOWN_NS / SOURCES, TICK},
	{"longer", 86400000000000, 4 * KNOWN_NS / SOURCES, TICK},
	{"since 1970", 1900000000000000000, 2 * KNOWN_NS / SOURCES, TICK},
	{"at the end of the tags", 255 * EPOCH, 2 * KNOWN_NS / SOURCES, TICK},
};

/* Two CPUs take turns at random; that one's clock is late by up to a tick. `until`: the slots. */
ROWS(sends_test, rows, row)
{
	uint64_t until[SOURCES] = {0}, seed = 5, now = row->begin_ns, hits = 0, noes = 0;
	struct rl_known_set set = {0};

	for (int i = 0; i < SENDS; i++) {
		uint64_t source = random_under(&seed, SOURCES), bit = 1ull << source, clock;

		now += random_under(&seed, row->step_ns);
		clock = now - (row->skew_ns ? random_under(&seed, row->skew_ns) : 0);
		if (until[source] > clock) {
			assert_true(may(&set, bit, clock));
			hits++;
		} else {
			noes += !may(&set, bit, clock);
		}
		if (random_under(&seed, 2)) { /* it passes */
			put(&set, bit, clock);
			until[source] = clock + KNOWN_NS;
		}
	}
	assert_true(hits > SENDS / 20);
	assert_true(noes || row->step_ns <= 1000000000);
}

/* At every edge of epochs: sent at the edge or a step from it, asked at the last moment, while
 * another CPU, ahead by a tick, has already begun the epoch. */
TEST(edge_test)
{
	static const int64_t steps[] = {-1, 0, 1, -(int64_t)TICK, TICK};

	for (uint64_t e = 3; e < 600; e++)
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			for (int at_end = 0; at_end < 2; at_end++) {
				uint64_t edge = e * EPOCH + steps[i];
				uint64_t sent = at_end ? edge - KNOWN_NS + 1 : edge;
				struct rl_known_set set = {0};

				put(&set, 1, sent);
				for (uint64_t t = sent; t < sent + KNOWN_NS; t += EPOCH / 7)
					put(&set, 2, t + TICK);
				put(&set, 2, sent + KNOWN_NS - 1 + TICK);
				assert_true(may(&set, 1, sent + KNOWN_NS - 1));
				assert_true(may(&set, 1, sent - TICK)); /* by a late clock */
			}
}

/* ---- and a no for those who were silent */

TEST(silent_test)
{
	uint64_t seed = 11;

	for (int i = 0; i < 1000; i++) {
		uint64_t now = random_next(&seed) >> 4;
		struct rl_known_set set = {0};

		assert_false(may(&set, 1, now));
		put(&set, 1, now);
		assert_false(may(&set, 2, now));
		for (uint64_t e = 4; e < 254; e++) {
			assert_true(known_has(&set, 1));
			assert_false(may(&set, 1, now + e * EPOCH));
		}
		put(&set, 2, now + 8 * EPOCH); /* in the same plane */
		assert_false(known_has(&set, 1));
	}
}

/* Every bit is somebody's, and none is of the number. */
TEST(bits_test)
{
	uint64_t seed = 13, seen = 0;

	for (int i = 0; i < 100000; i++) {
		uint64_t address = random_next(&seed);

		assert_int_equal(known_bit(address) & (known_bit(address) - 1), 0);
		assert_in_range(known_index(address, 4095), 0, 4095);
		seen |= known_bit(address);
	}
	assert_int_equal(seen, KNOWN_CELLS);
}

/* Four bits for each of the hot table's slots, of which a set has four. */
TEST(size_test)
{
	assert_int_equal(known_sets(2), 1);
	assert_int_equal(known_sets(65536) * sizeof(struct rl_known_set), 128 << 10);
	assert_int_equal(known_sets(1u << 30) * sizeof(struct rl_known_set), 4 << 20);
}

/* ---- two CPUs at once */

struct contest {
	struct rl_known_set set;
	unsigned int at; /* how many have arrived, at all rounds together */
	uint64_t lost;
};

#define SPINS 1000

static void meet(struct contest *c, unsigned int round)
{
	__atomic_add_fetch(&c->at, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(&c->at, __ATOMIC_SEQ_CST) < 2 * round; i++)
		if (i > SPINS)
			sched_yield();
}

static bool all_may(const struct rl_known_set *set, uint64_t epoch)
{
	bool all = true;

	for (int i = 0; i < KNOWN_TAG_SHIFT; i++)
		all &= known_may(set, 1ull << i, epoch);
	return all;
}

/* In each round, a new epoch, one puts the even bits and the other the odd ones, at once. */
static void contest_run(struct contest *c, int first)
{
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		meet(c, 2 * i - 1);
		for (int bit = first; bit < KNOWN_TAG_SHIFT; bit += 2)
			known_put(&c->set, 1ull << bit, i);
		meet(c, 2 * i);
		if (!first)
			c->lost += !all_may(&c->set, i);
	}
}

static void *contest_other(void *arg)
{
	contest_run(arg, 1);
	return NULL;
}

TEST(race_test)
{
	struct contest c = {0};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, contest_other, &c), 0);
	contest_run(&c, 0);
	pthread_join(thread, NULL);
	assert_int_equal(c.lost, 0);
}
