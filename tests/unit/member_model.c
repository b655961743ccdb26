// SPDX-License-Identifier: GPL-2.0-only
/* Random changes of a table of members, to it and to a plain model, and packets that ask it. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "member_model.h"
#include "cases.h"
#include "member_reader.h"
#include "member_universe.h"

#define TINY     3 /* a set that is soon full, … */
#define TINY_MAX 100
#define READERS  3

/* ---- the model */

struct memory_store store;
struct rl_member_layout layout;
struct rl_set sets[RL_SETS_MAX];
struct member_table table;
struct state before, after;
uint64_t answers, retries;
bool at_once;
static struct reader readers[READERS];
static uint32_t asked[READERS]; /* for which prefix */

static bool expired(uint32_t expires)
{
	return expires && (int32_t)(expires - table.now) <= 0;
}

static bool later(uint32_t a, uint32_t b)
{
	return b && (!a || (int32_t)(a - b) > 0);
}

bool holds(const struct state *state, uint32_t set, uint32_t i)
{
	return state->held[set][i] && !expired(state->expires[set][i]);
}

uint32_t held_count(const struct state *state, uint32_t set)
{
	uint32_t count = 0;

	for (int i = 0; i < UNIVERSE; i++)
		count += holds(state, set, i);
	return count;
}

/* The length of the longest member around the address of a prefix, -1: none. */
static int longest(const struct state *state, uint32_t set, uint32_t i)
{
	int len = -1;

	for (uint32_t n = 0; n < around_count[i]; n++)
		if (holds(state, set, around[i][n]) && universe[around[i][n]].len > len)
			len = universe[around[i][n]].len;
	return len;
}

/* ---- packets */

static void reader_next(int r)
{
	asked[r] = below(UNIVERSE);
	reader_begin(&readers[r], &table, &store, universe[asked[r]].addr);
}

/* May a packet find a member of this length? It has those that stay, and none that was not there
 * and will not be. */
static bool length_is_right(uint32_t set, uint32_t i, int len)
{
	bool known = len < 0;

	if (at_once)
		return len == longest(&before, set, i) || len == longest(&after, set, i);
	for (uint32_t n = 0; n < around_count[i]; n++) {
		bool was = holds(&before, set, around[i][n]), is = holds(&after, set, around[i][n]);

		known |= (was || is) && universe[around[i][n]].len == len;
		if (was && is && universe[around[i][n]].len > len)
			return false;
	}
	return known;
}

static void reader_check(int r)
{
	const struct reader *reader = &readers[r];
	int mapped = reader->ipv6 ? 0 : RL_MAPPED_BITS;

	for (int set = 0; set < SETS; set++) {
		int found = reader->longest[set] < 0 ? -1 : reader->longest[set] + mapped;

		if (!length_is_right(set, asked[r], found))
			fail_msg("set %d, prefix %u: found /%d; it was /%d and is /%d", set,
				 asked[r], found, longest(&before, set, asked[r]),
				 longest(&after, set, asked[r]));
	}
	answers++;
	retries += reader->retries;
}

static void readers_go(void *arg)
{
	(void)arg;
	for (int r = 0; r < READERS; r++)
		for (int steps = below(12); steps; steps--)
			if (!reader_go(&readers[r])) {
				reader_check(r);
				reader_next(r);
			}
}

void readers_end(void)
{
	for (int r = 0; r < READERS; r++) {
		while (reader_go(&readers[r]))
			continue;
		reader_check(r);
	}
}

static void readers_begin(void)
{
	for (int r = 0; r < READERS; r++)
		reader_next(r);
}

/* ---- changes, to the model and the table */

static void entry_expect(uint32_t set, uint32_t i, uint32_t expires, uint32_t *room,
			 struct member_result *expected)
{
	if (holds(&after, set, i)) {
		bool extends = later(expires, after.expires[set][i]);

		expected->extended += extends;
		expected->present += !extends;
		if (extends)
			after.expires[set][i] = expires;
	} else if (*room) {
		--*room;
		expected->added++;
		after.held[set][i] = true;
		after.expires[set][i] = expires;
	} else {
		expected->refused++;
	}
}

static uint32_t random_time(void)
{
	static const uint32_t lives[] = {1, 10, 1000, 100000};
	uint32_t expires = table.now + 1 + below(lives[below(4)]);

	return below(3) ? expires ? expires : 1 : 0;
}

static void result_check(const struct member_result *result, const struct member_result *expected)
{
	assert_int_equal(result->added, expected->added);
	assert_int_equal(result->extended, expected->extended);
	assert_int_equal(result->present, expected->present);
	assert_int_equal(result->refused, expected->refused);
	assert_int_equal(result->deleted, expected->deleted);
	assert_int_equal(result->missing, expected->missing);
}

#define BATCH 700
static uint32_t picked[BATCH];
static struct member_entry entries[BATCH];
static struct member members[BATCH];

static uint32_t pick(void)
{
	uint32_t count = 1 + below(below(4) ? 20 : BATCH), first = below(UNIVERSE);
	bool neighbours = below(2);

	for (uint32_t n = 0; n < count; n++) {
		picked[n] = neighbours ? (first + n) % UNIVERSE : below(UNIVERSE);
		members[n] = universe[picked[n]];
		entries[n] = (struct member_entry){.member = members[n], .expires = random_time()};
	}
	return count;
}

/* Members that were taken before an error are there and were counted, and no others. */
static void partly_check(uint32_t set, uint32_t count, const struct member_result *result)
{
	struct member_result sum = {0};
	struct member_entry held;

	for (uint32_t n = 0; n < count; n++) {
		sum.added += entries[n].became == MEMBER_ADDED;
		sum.extended += entries[n].became == MEMBER_EXTENDED;
		sum.present += entries[n].became == MEMBER_PRESENT;
		sum.refused += entries[n].became == MEMBER_REFUSED;
		if (entries[n].became != MEMBER_REFUSED)
			assert_int_equal(member_table_get(&table, set, &members[n], &held), 0);
	}
	result_check(result, &sum);
}

static int random_add(uint32_t set, struct member_result *result)
{
	uint32_t count = pick(), live = held_count(&before, set), room;
	struct member_result expected = {0};
	int ret;

	room = live < sets[set].max ? sets[set].max - live : 0;
	for (uint32_t n = 0; n < count; n++)
		entry_expect(set, picked[n], entries[n].expires, &room, &expected);
	ret = member_table_add(&table, set, entries, count, result);
	if (!ret)
		result_check(result, &expected);
	else
		partly_check(set, count, result);
	return ret;
}

static int random_delete(uint32_t set, struct member_result *result)
{
	struct member_result expected = {0};
	uint32_t count = pick();
	int ret;

	for (uint32_t n = 0; n < count; n++) {
		bool there = holds(&after, set, picked[n]);

		expected.deleted += there;
		expected.missing += !there;
		after.held[set][picked[n]] = false;
	}
	ret = member_table_delete(&table, set, members, count, result);
	if (!ret)
		result_check(result, &expected);
	return ret;
}

static int random_flush(uint32_t set, struct member_result *result)
{
	(void)result;
	memset(after.held[set], 0, sizeof(after.held[set]));
	return member_table_flush(&table, set);
}

static int random_swap(uint32_t set, struct member_result *result)
{
	uint32_t count = pick(), distinct = 0, stay = 0;
	int ret;

	memset(after.held[set], 0, sizeof(after.held[set]));
	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = picked[n];

		if (!after.held[set][i] || later(entries[n].expires, after.expires[set][i]))
			after.expires[set][i] = entries[n].expires;
		distinct += !after.held[set][i];
		stay += !after.held[set][i] && holds(&before, set, i);
		after.held[set][i] = true;
	}
	if (distinct > sets[set].max)
		after = before;
	ret = member_table_swap(&table, set, entries, count, result);
	if (distinct > sets[set].max && ret == -ENOSPC)
		return 0;
	assert_true(ret || distinct <= sets[set].max);
	if (!ret) {
		assert_int_equal(result->added, distinct - stay);
		assert_int_equal(result->extended + result->present, stay);
	}
	return ret;
}

static int random_sweep(uint32_t set, struct member_result *result)
{
	int ret = member_table_sweep(&table);

	(void)result;
	for (set = 0; !ret && set < SETS; set++)
		assert_int_equal(sets[set].members[0] + sets[set].members[1],
				 held_count(&before, set));
	return ret;
}

static int random_some(uint32_t set, struct member_result *result)
{
	(void)set;
	(void)result;
	return member_table_sweep_some(&table, 1 + below(8));
}

typedef int (*change_fn)(uint32_t set, struct member_result *result);
static const change_fn changes[] = {random_add,  random_add,    random_add,    random_add,
				    random_add,  random_delete, random_delete, random_flush,
				    random_swap, random_sweep,  random_some,   random_some};

/* Time goes on for everyone between two changes. */
int random_change(void)
{
	struct member_result result = {0};
	uint32_t set = below(SETS);
	change_fn change;

	table.now += below(4) ? below(3) : below(2000);
	readers_begin();
	change = changes[below(sizeof(changes) / sizeof(changes[0]))];
	at_once = change == random_flush || change == random_swap;
	return change(set, &result);
}

/* ---- what the writer's own questions tell */

static struct state told;

static int tell(uint32_t set, const struct member_entry *entry, void *arg)
{
	uint32_t i = universe_find(&entry->member);

	assert_true(*(uint64_t *)arg >> set & 1);
	assert_false(told.held[set][i]);
	told.held[set][i] = true;
	told.expires[set][i] = entry->expires;
	return 0;
}

static void walk(uint64_t which)
{
	memset(&told, 0, sizeof(told));
	assert_int_equal(member_table_walk(&table, which, tell, &which), 0);
}

static bool same_member(const struct state *a, const struct state *b, uint32_t set, uint32_t i)
{
	return holds(a, set, i) == holds(b, set, i) &&
	       (!holds(a, set, i) || a->expires[set][i] == b->expires[set][i]);
}

static bool same_set(const struct state *a, const struct state *b, uint32_t set)
{
	for (uint32_t i = 0; i < UNIVERSE; i++)
		if (!same_member(a, b, set, i))
			return false;
	return true;
}

static void walk_check(uint64_t which)
{
	walk(which);
	for (uint32_t set = 0; set < SETS; set++)
		if (which >> set & 1)
			assert_true(same_set(&told, &before, set));
}

void model_settle(void)
{
	walk((1 << SETS) - 1);
	for (uint32_t set = 0; set < SETS; set++) {
		if (at_once)
			assert_true(same_set(&told, &before, set) || same_set(&told, &after, set));
		for (uint32_t i = 0; i < UNIVERSE; i++)
			assert_true(same_member(&told, &before, set, i) ||
				    same_member(&told, &after, set, i));
	}
	before = after = told;
}

static void one_check(uint32_t set, uint32_t i)
{
	int len = longest(&before, set, i), ret;
	struct member_entry entry;

	ret = member_table_get(&table, set, &universe[i], &entry);
	assert_int_equal(ret, holds(&before, set, i) ? 0 : -ENOENT);
	if (!ret)
		assert_int_equal(entry.expires, before.expires[set][i]);
	ret = member_table_find(&table, set, universe[i].addr, &entry);
	assert_int_equal(ret, len < 0 ? -ENOENT : 0);
	if (!ret)
		assert_int_equal(entry.member.len, len);
}

void table_check(void)
{
	for (int i = 0; i < 20; i++)
		one_check(below(SETS), below(UNIVERSE));
	if (!below(10))
		walk_check(below(1 << SETS));
}

/* ---- */

int model_begin(void **state)
{
	(void)state;
	if (!universe[0].len && !universe[1].len)
		universe_make();
	memset(&layout, 0, sizeof(layout));
	memset(sets, 0, sizeof(sets));
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	answers = retries = 0;
	table = (struct member_table){.layout = &layout,
				      .sets = sets,
				      .seed = {0x8f3c1f6be2a90d57, 0x51d7a0b3c4e28f69},
				      .now = UINT32_MAX - 5000};
	memory_store_make(&store, &table.store);
	for (int set = 0; set < SETS; set++)
		sets[set].max = set == TINY ? TINY_MAX : UNIVERSE;
	readers_begin();
	store.hook = readers_go;
	return 0;
}

int model_end(void **state)
{
	(void)state;
	memory_store_clear(&store);
	return 0;
}
