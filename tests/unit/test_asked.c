// SPDX-License-Identifier: GPL-2.0-only
/* The table of who sent first: what is noted counts for a minute, nothing else counts, and an
 * answer is lost no more often than the file's comment says.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/asked.h"
#include "cases.h"
#include "random.h"
#include "turns.h"

#define SECOND  1000000000ull
#define TICK    10000000ull /* the longest: 100 a second */
#define QUARTER (SECOND / 4)
#define WRAP    (1ull << (32 + ASKED_UNIT_SHIFT)) /* where the time begins again */
#define ROUNDS  TURNS(200000)

static const __u64 seed[2] = {0x8f3c1f6be2a90d57, 0x51d7a0b3c4e28f69};

static bool counts(const __u64 ways[RL_ASKED_WAYS], uint32_t tag, uint64_t now_ns)
{
	return asked_age_of(ways, tag, asked_time(now_ns)) <= ASKED_AGE_MAX;
}

static void put(__u64 ways[RL_ASKED_WAYS], uint32_t tag, uint64_t now_ns)
{
	asked_put(ways, tag, asked_time(now_ns));
}

/* ---- for how long */

static const struct row {
	const char *name;
	uint64_t sent_ns; /* and then again, again_ns later, unless that is 0 */
	uint64_t again_ns;
} rows[] = {
	{"in the first moment", 0, 0},
	{"in the second unit", 1ull << ASKED_UNIT_SHIFT, 0},
	{"after a day", 86400 * SECOND + 1, 0},
	{"at the end of a unit", (1ull << 50) - 1, 0},
	{"where the time begins again", WRAP - 1, 0},
	{"where its time would be none", WRAP, 0},
	{"half a minute before it begins again", WRAP - 30 * SECOND, 0},
	{"again, too early to be written", 86400 * SECOND, QUARTER},
	{"again, and written", 86400 * SECOND, 30 * SECOND},
	{"again, when it no longer counted", 86400 * SECOND, 90 * SECOND},
};

ROWS(minute_test, rows, row)
{
	uint64_t last = row->sent_ns + row->again_ns;
	__u64 ways[RL_ASKED_WAYS] = {0};

	put(ways, 7, row->sent_ns);
	if (row->again_ns)
		put(ways, 7, last);
	for (uint64_t t = last; t <= last + 60 * SECOND; t += SECOND / 3)
		assert_true(counts(ways, 7, t));
	assert_true(counts(ways, 7, last + 60 * SECOND));
	assert_false(counts(ways, 7, last + 60 * SECOND + 3 * SECOND / 10));
	assert_false(counts(ways, 7, last + 86400 * SECOND));
	assert_false(counts(ways, 8, last));
	assert_int_equal(ways[1] | ways[2] | ways[3], 0);
	if (last >= TICK)
		assert_true(counts(ways, 7, last - TICK)); /* by the clock of another CPU */
}

/* Whatever the time and the tag, 0 among them. */
TEST(empty_test)
{
	const __u64 ways[RL_ASKED_WAYS] = {0};
	uint64_t draw = 3;

	for (uint64_t t = 0; t < 61 * SECOND; t += 1 << ASKED_UNIT_SHIFT)
		assert_false(counts(ways, 0, t) || counts(ways, 0, WRAP + t) ||
			     counts(ways, random_next(&draw), t));
	for (uint64_t t = 0; t < 2 * SECOND; t += 1 << ASKED_UNIT_SHIFT)
		assert_int_not_equal(asked_time(t), 0);
	assert_int_not_equal(asked_time(WRAP), 0);
}

/* A tag of zeros is one as any other. */
TEST(zero_tag_test)
{
	__u64 ways[RL_ASKED_WAYS] = {0};

	put(ways, 5, 9 * SECOND);
	put(ways, 0, 9 * SECOND);
	put(ways, 0, 10 * SECOND);
	assert_true(counts(ways, 0, 70 * SECOND));
	assert_int_equal(ways[2] | ways[3], 0);
}

/* Within a quarter second nothing is written, so that packets of one conversation share its line.
 */
TEST(quiet_test)
{
	__u64 ways[RL_ASKED_WAYS] = {0}, before;
	uint64_t writes = 0;

	put(ways, 7, SECOND);
	before = ways[0];
	for (uint64_t t = SECOND; t < 11 * SECOND; t += SECOND / 1000) {
		put(ways, 7, t);
		writes += ways[0] != before;
		before = ways[0];
	}
	assert_in_range(writes, 30, 40);
}

/* ---- which one goes */

TEST(oldest_test)
{
	__u64 ways[RL_ASKED_WAYS] = {0};

	for (uint32_t tag = 1; tag <= 4; tag++)
		put(ways, tag, (100 + tag) * SECOND);
	put(ways, 1, 110 * SECOND); /* now 2 is the oldest */
	put(ways, 5, 111 * SECOND);
	for (uint32_t tag = 1; tag <= 5; tag++)
		assert_int_equal(counts(ways, tag, 111 * SECOND), tag != 2);
	put(ways, 6, 163 * SECOND + 3 * QUARTER); /* 3 has expired, 4 not yet */
	for (uint32_t tag = 1; tag <= 6; tag++)
		assert_int_equal(counts(ways, tag, 163 * SECOND + 3 * QUARTER),
				 tag != 2 && tag != 3);
}

/* ---- keys */

struct conversation {
	__u64 peer[2], own[2];
	__u16 peer_port, own_port;
	__u8 proto;
};

static struct asked_key key_of(const struct conversation *c)
{
	bool ipv4 = address_is_mapped(c->peer);

	return asked_key_of(seed, ipv4, c->peer, c->own, c->peer_port, c->own_port, c->proto);
}

static struct conversation ip4(uint32_t host, uint16_t peer_port, uint16_t own_port)
{
	uint8_t bytes[16] = {[10] = 0xff, 0xff, host >> 24, host >> 16, host >> 8, host};
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 198, 51, 100, 1};
	struct conversation c = {.peer_port = peer_port, .own_port = own_port, .proto = 17};

	memcpy(c.peer, bytes, sizeof(c.peer));
	memcpy(c.own, own, sizeof(c.own));
	return c;
}

static bool same(struct conversation a, struct conversation b)
{
	struct asked_key x = key_of(&a), y = key_of(&b);

	return x.theirs == y.theirs;
}

/* An answer to another address of this machine is none, but a client that wrote to it is the same.
 */
static void own_address_test(struct conversation a, int bit)
{
	struct conversation b = a;
	struct asked_key x = key_of(&a), y;

	b.own[bit / 64] ^= 1ull << bit % 64;
	y = key_of(&b);
	assert_int_not_equal(x.ours, y.ours);
	assert_int_equal(x.theirs, y.theirs);
	assert_int_equal(x.set, y.set);
}

/* Each bit of a conversation is in its tag. */
TEST(bits_test)
{
	uint64_t draw = 11;

	for (int i = 0; i < 1000; i++) {
		struct conversation a = {.proto = 17}, b, bases[2] = {ip4(draw >> 7, 53, draw), a};

		bases[1].peer[0] = random_next(&draw);
		bases[1].peer[1] = random_next(&draw);
		for (int family = 0; family < 2; family++) {
			a = bases[family];
			for (int bit = 0; bit < 16; bit++) {
				b = a, b.peer_port ^= 1u << bit;
				assert_false(same(a, b));
				b = a, b.own_port ^= 1u << bit;
				assert_false(same(a, b));
			}
			for (int bit = family ? 0 : 96; bit < 128; bit++) {
				b = a, b.peer[bit / 64] ^= 1ull << bit % 64;
				assert_false(same(a, b));
				own_address_test(a, bit);
			}
			b = a, b.proto = 58;
			assert_false(same(a, b));
			b = a, b.peer_port = a.own_port, b.own_port = a.peer_port;
			assert_true(a.peer_port == a.own_port || !same(a, b));
		}
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* As a resolver asks: every port, of a few servers. Sets fill alike, and no two of a set have one
 * tag.
 */
TEST(spread_test)
{
	enum { SERVERS = 8, KEYS = SERVERS << 16 };
	static uint64_t all[KEYS];
	static uint32_t used[RL_ASKED_SETS];
	size_t n = 0;

	for (uint32_t host = 0; host < SERVERS; host++)
		for (uint32_t port = 0; port < 1 << 16; port++) {
			struct conversation c = ip4(0x08080800 + host, 53, port);
			struct asked_key key = key_of(&c);

			assert_in_range(key.set, 0, RL_ASKED_SETS - 1);
			used[key.set]++;
			all[n++] = (uint64_t)key.set << 32 | key.ours;
		}
	for (size_t i = 0; i < RL_ASKED_SETS; i++) /* 64 each, on average; sigma 8 */
		assert_in_range(used[i], 64 - 6 * 8, 64 + 6 * 8);
	qsort(all, n, sizeof(all[0]), compare);
	for (size_t i = 1; i < n; i++) /* 2^37 pairs of 2^45 */
		assert_int_not_equal(all[i], all[i - 1]);
}

/* ---- answers that are lost, and taken for what they are not */

static struct asked_key random_key(uint64_t *draw)
{
	struct conversation c = ip4(random_next(draw) >> 32, 53, random_next(draw) >> 48);

	return key_of(&c);
}

#define QUERIES (1 << 20)
#define AHEAD   2500 /* questions until the answer: 50 ms at 50,000 a second */

/* 1 - e^-x (1 + x + x^2/2 + x^3/6) for x = 2500 / 8192 is 0.00028: 295 of 2^20, sigma 17. */
TEST(lost_test)
{
	struct rl_asked_set *sets = calloc(RL_ASKED_SETS, sizeof(*sets));
	uint64_t asks = 5, answers = 5, lost = 0, now = SECOND;

	assert_non_null(sets);
	for (int i = 0; i < QUERIES + AHEAD; i++) {
		struct asked_key key = random_key(&asks);

		now += SECOND / 50000;
		put(sets[key.set].ours, key.ours, now);
		if (i < AHEAD)
			continue;
		key = random_key(&answers);
		lost += !counts(sets[key.set].ours, key.ours, now);
	}
	free(sets);
	assert_in_range(lost, 295 - 5 * 17, 295 + 5 * 17);
}

/* A full table, and packets that answer nothing: none of 2^20 counts, of which 2^-10 would. */
TEST(unasked_test)
{
	struct rl_asked_set *sets = calloc(RL_ASKED_SETS, sizeof(*sets));
	uint64_t asks = 5, others = 6, now = SECOND;

	assert_non_null(sets);
	for (int i = 0; i < 8 * (int)RL_ASKED_SETS * RL_ASKED_WAYS; i++) {
		struct asked_key key = random_key(&asks);

		put(sets[key.set].ours, key.ours, now);
	}
	for (int i = 0; i < TURNS(QUERIES); i++) {
		struct asked_key key = random_key(&others);

		assert_false(counts(sets[key.set].ours, key.ours, now));
	}
	free(sets);
}

/* ---- marks that others push out */

static const struct begin {
	const char *name;
	int marks;
	uint64_t served_s, now_s; /* the marks are as old as that the port was served */
	bool ours, may;
} begins[] = {
	{"nothing is noted", 0, 0, 100, false, true},
	{"room for another mark", 3, 100, 101, false, true},
	{"no room", 4, 100, 101, false, false},
	{"no room, a minute later", 4, 100, 160, false, false},
	{"no room, at the same time", 4, 100, 100, false, false},
	{"no room, but they count no more", 4, 100, 161, false, true},
	{"no room, but already noted", 4, 100, 101, true, true},
};

ROWS(begin_test, begins, row)
{
	uint8_t served = asked_serving_time(row->served_s * SECOND);
	struct rl_asked_set set = {0};

	for (int i = 0; i < row->marks; i++)
		put(set.theirs, 20 + i, row->served_s * SECOND);
	if (row->ours)
		put(set.ours, 7, row->served_s * SECOND);
	assert_int_equal(asked_may_begin(&set, 7, served, row->now_s * SECOND), row->may);
	assert_true(asked_may_begin(&set, 7, served, row->now_s * SECOND + 70 * SECOND));
}

/* A port counts as served for at least as long as a mark, by whichever CPU's clock. */
TEST(served_test)
{
	for (uint64_t t = SECOND; t < 1200 * SECOND; t += SECOND / 7) {
		uint8_t served = asked_serving_time(t);

		assert_true(asked_is_served(served, t - TICK));
		assert_true(asked_is_served(served, t + 61 * SECOND));
		assert_false(asked_is_served(served, t + 80 * SECOND));
		assert_false(asked_is_served(served, t + 900 * SECOND));
	}
}

/* A server answers after up to a minute, while 10,000 others a second begin: each client is still
 * known to have begun, or is not taken for one that was asked. */
TEST(slow_answer_test)
{
	enum { CLIENTS = 1000, CROWD = 10000 };
	struct rl_asked_set *sets = calloc(RL_ASKED_SETS, sizeof(*sets));
	uint64_t others = 6, now = SECOND, pushed_out = 0;
	uint64_t clients = 5, answered = 5;
	uint8_t served;

	assert_non_null(sets);
	for (int i = 0; i < CLIENTS; i++) {
		struct asked_key key = random_key(&clients);

		put(sets[key.set].theirs, key.theirs, now);
	}
	served = asked_serving_time(now);
	for (int i = 0; i < 8 * CROWD; i++) {
		struct asked_key key = random_key(&others);

		now += SECOND / CROWD;
		put(sets[key.set].theirs, key.theirs, now);
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct asked_key key = random_key(&answered);
		bool known = counts(sets[key.set].theirs, key.theirs, now);

		pushed_out += !known;
		assert_true(known || !asked_may_begin(&sets[key.set], key.ours, served, now));
		assert_true(known ||
			    !asked_may_begin(&sets[key.set], key.ours, served, 61 * SECOND));
	}
	free(sets);
	assert_in_range(pushed_out, CLIENTS * 9 / 10, CLIENTS);
}

/* 50,000 questions a second from a port that serves a thousand clients: all may be noted. */
TEST(few_marks_test)
{
	struct rl_asked_set *sets = calloc(RL_ASKED_SETS, sizeof(*sets));
	uint64_t asks = 5, clients = 6, now = SECOND;

	assert_non_null(sets);
	for (int i = 0; i < 1000; i++) {
		struct asked_key key = random_key(&clients);

		put(sets[key.set].theirs, key.theirs, now);
	}
	for (int i = 0; i < TURNS(QUERIES); i++) {
		struct asked_key key = random_key(&asks);

		now += SECOND / 50000;
		assert_true(
			asked_may_begin(&sets[key.set], key.ours, asked_serving_time(now), now));
		put(sets[key.set].ours, key.ours, now);
	}
	free(sets);
}

/* ---- two CPUs at once */

struct contest {
	__u64 ways[RL_ASKED_WAYS];
	unsigned int ready;
	uint64_t lost;
};

/* Two conversations of each CPU in one set. A note is found again; only when both of them
 * enter it for the first time may a note be lost, until the next packet. */
static void contest_run(struct contest *c, uint32_t first)
{
	uint64_t lost = 0;

	__atomic_add_fetch(&c->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->ready, __ATOMIC_SEQ_CST) < 2)
		sched_yield();
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t now = i * QUARTER * 2;
		uint32_t tag = first + i % 2;

		put(c->ways, tag, now);
		lost += i > 2 && asked_age_of(c->ways, tag, asked_time(now)) > ASKED_AGE_RECENT;
	}
	__atomic_add_fetch(&c->lost, lost, __ATOMIC_SEQ_CST);
}

static void *contest_other(void *arg)
{
	contest_run(arg, 20);
	return NULL;
}

/* And each way is of one of them, with the last time at which it was put. */
TEST(race_test)
{
	uint64_t now = (uint64_t)ROUNDS * QUARTER * 2;
	struct contest c = {0};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, contest_other, &c), 0);
	contest_run(&c, 10);
	pthread_join(thread, NULL);
	assert_int_equal(c.lost, 0);
	for (uint32_t tag = 10; tag < 22; tag++)
		assert_int_equal(counts(c.ways, tag, now), tag % 10 < 2);
	for (int i = 0; i < RL_ASKED_WAYS; i++)
		assert_in_range(c.ways[i] >> ASKED_TAG_SHIFT, 10, 21);
}
