// SPDX-License-Identifier: GPL-2.0-only
/* The filter of peers: against an exact model it never says "nobody" of an address that has a
 * socket or was asked within a minute, whatever else its sets hold and whoever races; and it
 * forgets what is gone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "algorithm/peers.h"
#include "cases.h"
#include "random.h"
#include "turns.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define TICK   10000000ull                   /* the longest: 100 a second */
#define WRAP   (1024ull << PEERS_UNIT_SHIFT) /* where the time begins again */
#define KEPT   (MINUTE + SECOND / 3)         /* how long an answer counts: asked.h */
#define GONE   (23ull << PEERS_UNIT_SHIFT)   /* and when it certainly does not, by any clock */
#define MANY   (PEERS_COUNT / PEERS_SOCKET)  /* a way cannot count more */
#define OTHERS 100u                          /* tags from there on */

static const __u64 seed[2] = {0x8f3c1f6be2a90d57, 0x51d7a0b3c4e28f69};

static bool peer_note(struct rl_peer_set *set, uint32_t tag, uint64_t now_ns,
		      enum peers_event event)
{
	return peers_set_note(set, tag, peers_time(now_ns), event);
}

static bool may(const struct rl_peer_set *set, uint32_t tag, uint64_t now_ns)
{
	return !peers_is_nobody(set, tag) && peers_set_may(set, tag, peers_time(now_ns));
}

static uint32_t rest(const struct rl_peer_set *set)
{
	return set->ways[RL_PEER_WAYS];
}

static void fill(struct rl_peer_set *set, enum peers_event event, uint64_t now_ns)
{
	for (uint32_t i = 0; i < RL_PEER_WAYS; i++)
		assert_true(peer_note(set, OTHERS + i, now_ns, event));
}

/* ---- questions */

static const struct asked_row {
	const char *name;
	uint64_t first_ns;
	uint64_t again_ns; /* after the first; 0: not again */
	bool full;         /* by sockets of others */
} asked_rows[] = {
	{"in the first moment", 0, 0, false},
	{"in the first unit, at its end", (1ull << 32) - 1, 0, false},
	{"after a day", 86400 * SECOND + 1, 0, false},
	{"again after half a minute", 86400 * SECOND, MINUTE / 2, false},
	{"again after an hour", 86400 * SECOND, 60 * MINUTE, false},
	{"where the time begins again", WRAP - 1, 0, false},
	{"where its time would be none", WRAP, 0, false},
	{"half a minute before it begins again", WRAP - MINUTE / 2, 0, false},
	{"a minute before it begins again", WRAP - MINUTE, 0, false},
	{"in a full set", 86400 * SECOND + 1, 0, true},
	{"in a full set, where the time begins again", WRAP - 1, 0, true},
	{"in a full set, where its time would be none", WRAP, MINUTE / 2, true},
};

ROWS(asked_test, asked_rows, row)
{
	uint64_t last = row->first_ns + row->again_ns;
	struct rl_peer_set set = {0};

	if (row->full)
		fill(&set, PEERS_ADD, row->first_ns);
	assert_false(may(&set, 7, row->first_ns));
	assert_int_equal(peer_note(&set, 7, row->first_ns, PEERS_ASK), !row->full);
	if (row->again_ns)
		peer_note(&set, 7, last, PEERS_ASK);
	for (uint64_t t = last; t <= last + KEPT; t += SECOND / 3)
		assert_true(may(&set, 7, t));
	if (last >= TICK)
		assert_true(may(&set, 7, last - TICK)); /* by the clock of another CPU */
	for (uint64_t t = last + GONE; t <= last + 10 * MINUTE; t += SECOND)
		assert_false(may(&set, 7, t));
	assert_int_equal(may(&set, 8, last), row->full);
}

/* Nobody takes the way of a question, by any CPU's clock, while its answer counts. */
ROWS(taken_test, asked_rows, row)
{
	uint64_t last = row->first_ns;
	struct rl_peer_set set = {0};

	fill(&set, PEERS_ASK, last);
	for (uint64_t t = last; t <= last + KEPT + SECOND / 4; t += SECOND / 3) {
		struct rl_peer_set copy = set;

		assert_false(peer_note(&copy, 7, t, PEERS_ADD));
		assert_memory_equal(copy.ways, set.ways, RL_PEER_WAYS * sizeof(set.ways[0]));
	}
	assert_true(peer_note(&set, 7, last + GONE, PEERS_ADD));
	assert_false(may(&set, OTHERS, last + GONE));
}

/* ---- sockets */

static void add_many(struct rl_peer_set *set, uint32_t tag, uint32_t count)
{
	while (count--)
		peer_note(set, tag, SECOND, PEERS_ADD);
}

static void remove_many(struct rl_peer_set *set, uint32_t tag, bool in_way, uint32_t count)
{
	while (count--)
		peers_set_remove(set, tag, in_way);
}

static const struct count_row {
	const char *name;
	bool full, stick;
	uint32_t added, removed;
	bool stays;
} count_rows[] = {
	{"one", false, false, 1, 1, false},
	{"one of two", false, false, 2, 1, true},
	{"as many as a way counts, but one", false, false, MANY - 1, MANY - 1, false},
	{"as many as a way counts", false, false, MANY, MANY, true},
	{"more than a way counts", false, false, 3 * MANY, 3 * MANY, true},
	{"one that was there before", false, true, 1, 1, true},
	{"none, but one that was there before", false, true, 0, 0, true},
	{"one, in a full set", true, false, 1, 1, false},
	{"one of two, in a full set", true, false, 2, 1, true},
	{"more than a way counts, in a full set", true, false, 3 * MANY, 3 * MANY, false},
	{"one that was there before, in a full set", true, true, 1, 1, true},
};

ROWS(count_test, count_rows, row)
{
	struct rl_peer_set set = {0};

	if (row->full)
		fill(&set, PEERS_ADD, SECOND);
	if (row->stick)
		peer_note(&set, 7, SECOND, PEERS_STICK);
	add_many(&set, 7, row->added);
	assert_true(may(&set, 7, SECOND + 10 * MINUTE));
	remove_many(&set, 7, !row->full, row->removed);
	assert_int_equal(may(&set, 7, SECOND + 10 * MINUTE), row->stays);
	for (uint32_t i = 0; row->full && i < RL_PEER_WAYS; i++)
		assert_true(may(&set, OTHERS + i, SECOND + 10 * MINUTE));
}

/* A question leaves the count of sockets alone, and sockets leave its time. */
TEST(both_test)
{
	struct rl_peer_set set = {0};

	peer_note(&set, 7, SECOND, PEERS_ADD);
	peer_note(&set, 7, 5 * MINUTE, PEERS_ASK);
	assert_true(may(&set, 7, 60 * MINUTE));
	peers_set_remove(&set, 7, true);
	assert_true(may(&set, 7, 5 * MINUTE + KEPT));
	peer_note(&set, 7, 6 * MINUTE, PEERS_ADD);
	peers_set_remove(&set, 7, true);
	assert_true(may(&set, 7, 5 * MINUTE + KEPT));
	assert_false(may(&set, 7, 5 * MINUTE + GONE));
}

/* The last word neither begins again nor becomes fewer than it has, once it is stuck. */
TEST(stuck_test)
{
	struct rl_peer_set set = {0};

	fill(&set, PEERS_ADD, SECOND);
	set.ways[RL_PEER_WAYS] = PEERS_FULL - PEERS_SOCKET;
	for (uint32_t i = 0; i < 3; i++)
		assert_false(peer_note(&set, 7, SECOND, PEERS_ADD));
	assert_int_equal(rest(&set), PEERS_FULL);
	for (uint32_t i = 0; i < 9; i++)
		peers_set_remove(&set, 7, false);
	assert_int_equal(rest(&set), PEERS_FULL);
}

/* No tag is that of an empty way, and addresses are spread over sets and tags. */
TEST(key_test)
{
	uint32_t *sets = calloc(RL_PEER_SETS, sizeof(*sets)), most = 0, same = 0, last = 0;
	uint64_t draw = 9;

	assert_non_null(sets);
	for (uint32_t i = 0; i < 2 * RL_PEER_SETS; i++) {
		__u64 v6[2] = {random_next(&draw), 0}, v4[2] = {0, 0xffff0000 | (__u64)i << 32};
		struct peers_key key = peers_key_of(seed, i % 2, i % 2 ? v4 : v6);

		assert_in_range(key.tag, 1, PEERS_TAG_MASK);
		assert_in_range(key.set, 0, RL_PEER_MORE - 1);
		same += key.tag == 77;
		last += key.set >= RL_PEER_MORE - RL_PEER_SETS;
		if (++sets[key.set & (RL_PEER_SETS - 1)] > most)
			most = sets[key.set & (RL_PEER_SETS - 1)];
	}
	assert_in_range(most, 5, 12);
	assert_in_range(same, 0, 20);
	assert_in_range(last, RL_PEER_SETS / 3, RL_PEER_SETS * 2 / 3);
	free(sets);
}

/* ---- the whole filter */

static bool table_may(struct rl_peers *table, struct peers_key key, uint64_t now_ns)
{
	return !peers_is_nobody(peers_first(table, key), key.tag) &&
	       peers_may(table, key, peers_time(now_ns));
}

static enum peers_where table_note(struct rl_peers *table, struct peers_key key, uint64_t now_ns,
				   enum peers_event event)
{
	return peers_note(table, key, peers_time(now_ns), event);
}

static struct peers_key key_drawn(uint64_t *draw)
{
	__u64 address[2] = {0, random_next(draw)};

	return peers_key_of(seed, true, address);
}

/* How many strangers in a million are taken for peers: by their tags, and where both sets are full.
 */
static const struct crowd_row {
	const char *name;
	enum peers_event event;
	uint32_t peers;
	uint32_t least, most;
} crowd_rows[] = {
	{"no peer, and a million strangers", PEERS_ADD, 0, 0, 0},
	{"2,000 peers, and a million strangers", PEERS_ADD, 2000, 40, 150},
	{"16,000 peers, and a million strangers", PEERS_ADD, 16000, 350, 650},
	{"100,000 peers, and a million strangers", PEERS_ADD, 100000, 1800, 3200},
	{"100,000 that were there before, and a million strangers", PEERS_STICK, 100000, 1800,
	 3200},
	{"100,000 that were asked, and a million strangers", PEERS_ASK, 100000, 1800, 3200},
	{"200,000 peers, and a million strangers", PEERS_ADD, 200000, 60000, 110000},
};

ROWS(crowd_test, crowd_rows, row)
{
	enum peers_where *where = calloc(row->peers + 1, sizeof(*where));
	struct rl_peers *table = calloc(1, sizeof(*table));
	uint64_t draw = 4, again = 4, taken = 0, strangers = TURNS(1000000), gone = SECOND + GONE;

	assert_non_null(table);
	assert_non_null(where);
	for (uint32_t i = 0; i < row->peers; i++)
		where[i] = table_note(table, key_drawn(&draw), SECOND, row->event);
	for (uint64_t i = 0; i < strangers; i++)
		taken += table_may(table, key_drawn(&draw), SECOND);
	assert_in_range(taken * 1000000 / strangers, row->least, row->most);
	for (uint32_t i = 0; i < row->peers; i++)
		assert_true(table_may(table, key_drawn(&again), SECOND));
	again = 4;
	for (uint32_t i = 0; row->event == PEERS_ADD && i < row->peers; i++)
		peers_remove(table, key_drawn(&again), where[i]);
	again = 4;
	for (uint32_t i = 0; i < row->peers; i++)
		assert_int_equal(table_may(table, key_drawn(&again), gone),
				 row->event == PEERS_STICK);
	free(where);
	free(table);
}

/* ---- against a model */

enum { TAGS = 24, SOCKETS = 60, WAYS = 2 * RL_PEER_WAYS };

/* All tags have the same two sets. */
struct model {
	struct rl_peers table;
	uint64_t now_ns, draw;
	uint64_t asked_ns[TAGS]; /* 0: never */
	uint32_t sockets[TAGS];
	bool stuck[TAGS];
	struct {
		uint32_t tag; /* 0: none */
		enum peers_where where;
	} socket[SOCKETS];
};

static uint32_t draw_below(struct model *m, uint32_t n)
{
	return random_under(&m->draw, n);
}

/* The last of both. */
static struct peers_key model_key(uint32_t tag)
{
	return (struct peers_key){.set = RL_PEER_MORE - 1, .tag = tag};
}

static void socket_turn(struct model *m, uint32_t i)
{
	uint32_t tag = m->socket[i].tag;

	if (tag) {
		peers_remove(&m->table, model_key(tag), m->socket[i].where);
		m->sockets[tag]--;
		m->socket[i].tag = 0;
		return;
	}
	tag = 1 + draw_below(m, TAGS - 1);
	m->socket[i].tag = tag;
	m->socket[i].where = table_note(&m->table, model_key(tag), m->now_ns, PEERS_ADD);
	m->sockets[tag]++;
}

static void model_turn(struct model *m)
{
	uint32_t tag = 1 + draw_below(m, TAGS - 1);

	switch (draw_below(m, 8)) {
	case 0:
		table_note(&m->table, model_key(tag), m->now_ns, PEERS_ASK);
		m->asked_ns[tag] = m->now_ns;
		break;
	case 1:
		m->now_ns += draw_below(m, 20) * SECOND;
		break;
	default:
		socket_turn(m, draw_below(m, SOCKETS));
	}
}

static void model_stick(struct model *m, uint32_t tag)
{
	table_note(&m->table, model_key(tag), m->now_ns, PEERS_STICK);
	m->stuck[tag] = true;
}

static bool model_has(const struct model *m, uint32_t tag)
{
	return m->sockets[tag] || m->stuck[tag] ||
	       (m->asked_ns[tag] && m->now_ns <= m->asked_ns[tag] + KEPT);
}

static const struct model_row {
	const char *name;
	uint64_t now_ns;
	uint32_t stuck; /* tags */
} model_rows[] = {
	{"random turns", SECOND, 0},
	{"random turns, where the time begins again", WRAP - 3 * MINUTE, 0},
	{"random turns, with one that was there before", SECOND, 1},
	{"random turns, with as many as there are ways in a set", SECOND, RL_PEER_WAYS},
	{"random turns, with more than there are ways in a set", SECOND, RL_PEER_WAYS + 1},
	{"random turns, with as many as there are ways", SECOND, WAYS},
	{"random turns, with more than there are ways", SECOND, WAYS + 1},
};

ROWS(model_test, model_rows, row)
{
	struct model *m = calloc(1, sizeof(*m));
	uint32_t strangers = 0;

	assert_non_null(m);
	m->now_ns = row->now_ns;
	m->draw = 5 + row->stuck;
	for (uint32_t tag = 1; tag <= row->stuck; tag++)
		model_stick(m, tag);
	for (int i = 0; i < TURNS(400000); i++) {
		model_turn(m);
		for (uint32_t tag = 1; tag < TAGS; tag++) {
			bool said = table_may(&m->table, model_key(tag), m->now_ns);

			assert_true(!model_has(m, tag) || said);
			strangers += !said;
		}
	}
	for (uint32_t i = 0; i < SOCKETS; i++)
		if (m->socket[i].tag)
			socket_turn(m, i);
	m->now_ns += GONE;
	for (uint32_t tag = 1; tag < TAGS; tag++)
		assert_int_equal(table_may(&m->table, model_key(tag), m->now_ns),
				 m->stuck[tag] || row->stuck > WAYS);
	assert_true(strangers > 0 || row->stuck >= WAYS);
	free(m);
}

/* ---- two CPUs at once */

enum { ROUNDS = TURNS(100000), CONTEST_HELD = 8 };

static const struct contest_row {
	const char *name;
	uint32_t tags; /* from 1 on; the one after them is asked */
} contest_rows[] = {
	{"two CPUs in one set", RL_PEER_WAYS - 1},
	{"two CPUs in two sets", RL_PEER_WAYS + 2},
	{"two CPUs, with more than there are ways", WAYS + 4},
};

struct contest {
	const struct contest_row *row;
	struct rl_peers table;
	unsigned int ready;
	uint64_t lost;
};

/* Sockets of these tags come and go, CONTEST_HELD at a time of each CPU, and one more tag is asked.
 * All that a CPU has added is there. A CPU that loses more races than it tries leaves a socket too
 * many: no more than one removal in a hundred does. */
static void contest_run(struct contest *c, uint64_t draw)
{
	enum peers_where where[CONTEST_HELD] = {PEERS_IN_FIRST};
	uint32_t tags[CONTEST_HELD] = {0}, asked = c->row->tags + 1;
	uint64_t lost = 0;

	__atomic_add_fetch(&c->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->ready, __ATOMIC_SEQ_CST) < 2)
		sched_yield();
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t now = MINUTE + (i / 16 % 2 << PEERS_UNIT_SHIFT);
		uint32_t at = i % CONTEST_HELD;

		if (tags[at])
			peers_remove(&c->table, model_key(tags[at]), where[at]);
		tags[at] = 1 + random_under(&draw, c->row->tags);
		where[at] = table_note(&c->table, model_key(tags[at]), now, PEERS_ADD);
		table_note(&c->table, model_key(asked), now, PEERS_ASK);
		for (uint32_t j = 0; j < CONTEST_HELD; j++)
			lost += tags[j] && !table_may(&c->table, model_key(tags[j]), now);
		lost += !table_may(&c->table, model_key(asked), now);
	}
	for (uint32_t j = 0; j < CONTEST_HELD; j++)
		peers_remove(&c->table, model_key(tags[j]), where[j]);
	__atomic_add_fetch(&c->lost, lost, __ATOMIC_SEQ_CST);
}

static void *contest_other(void *arg)
{
	contest_run(arg, 21);
	return NULL;
}

static uint64_t sockets_in_ways(const struct rl_peer_set *set)
{
	uint64_t count = 0;

	for (int i = 0; i < RL_PEER_WAYS; i++)
		count += (set->ways[i] & PEERS_COUNT) / PEERS_SOCKET;
	return count;
}

ROWS(race_test, contest_rows, row)
{
	struct contest *c = calloc(1, sizeof(*c));
	const struct rl_peer_set *first, *more;
	pthread_t thread;

	assert_non_null(c);
	c->row = row;
	first = peers_first(&c->table, model_key(0));
	more = peers_more(&c->table, model_key(0));
	assert_int_equal(pthread_create(&thread, NULL, contest_other, c), 0);
	contest_run(c, 11);
	pthread_join(thread, NULL);
	assert_int_equal(c->lost, 0);
	assert_in_range(sockets_in_ways(first) + sockets_in_ways(more), 0, ROUNDS / 50);
	assert_int_equal(rest(first) / PEERS_SOCKET, 0); /* none of them is lost there */
	assert_int_equal(rest(more) / PEERS_SOCKET, 0);
	free(c);
}
