// SPDX-License-Identifier: GPL-2.0-only
/* The table of sets' members against a simple model, beside packets that ask it between any two
 * steps of its writer; when the writer is killed, and when there is no memory.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "algorithm/member_hash.h"
#include "cases.h"
#include "member_model.h"
#include "turns.h"

#define ROUNDS TURNS(20000)
#define DEATHS TURNS(4000)
#define ERRORS TURNS(4000)
#define LISTS  TURNS(2000)

TEST(random_test, model_begin, model_end)
{
	assert_int_equal(member_table_begin(&table), 0);
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(random_change(), 0);
		readers_end();
		before = after;
		table_check();
	}
	assert_true(answers > ROUNDS && retries > ROUNDS / 10);
	assert_true(table.now < UINT32_MAX / 2); /* it has begun again */
}

/* ---- a writer that is killed */

static struct rl_member_layout left; /* by the one that was killed */
static uint32_t deaths;

static void death(void *arg)
{
	(void)arg;
	left = layout;
	deaths++;
}

static void counts_check(void)
{
	for (uint32_t set = 0; set < SETS; set++)
		assert_int_equal(sets[set].members[0] + sets[set].members[1],
				 held_count(&before, set));
}

/* The next session repairs the table while packets ask it. */
static void repair(const struct rl_set kept[RL_SETS_MAX])
{
	memcpy(sets, kept, sizeof(sets));
	layout = left;
	store.fail_at = 0;
	assert_int_equal(layout.writing, 1);
	assert_int_equal(member_table_begin(&table), 0);
	readers_end();
	model_settle();
	counts_check();
	assert_int_equal(layout.stale, 0);
	member_table_end(&table);
}

TEST(killed_test, model_begin, model_end)
{
	struct rl_set kept[RL_SETS_MAX];

	store.on_failure = death;
	for (int round = 0; round < DEATHS; round++) {
		uint32_t before_it = deaths;

		memcpy(kept, sets, sizeof(kept));
		assert_int_equal(member_table_begin(&table), 0);
		store.fail_at = below(3) ? store.writes + 1 + below(below(2) ? 6 : 60) : 0;
		store.error = -EIO;
		store.dies = true;
		random_change();
		store.fail_at = 0;
		if (deaths != before_it) {
			repair(kept);
			continue;
		}
		readers_end();
		before = after;
		member_table_end(&table);
		table_check();
	}
	assert_true(deaths > DEATHS / 10);
}

/* ---- a store that refuses */

TEST(error_test, model_begin, model_end)
{
	uint32_t refused = 0;

	assert_int_equal(member_table_begin(&table), 0);
	for (int round = 0; round < ERRORS; round++) {
		int ret;

		store.fail_at = below(3) ? store.writes + 1 + below(below(2) ? 6 : 60) : 0;
		store.error = below(2) ? -ENOMEM : -E2BIG;
		store.dies = below(2);
		ret = random_change();
		assert_true(!ret || ret == store.error);
		store.fail_at = 0;
		readers_end();
		if (ret && at_once)
			after = before; /* nothing has changed */
		if (ret)
			model_settle();
		else
			before = after;
		refused += !!ret;
		table_check();
	}
	assert_int_equal(member_table_sweep(&table), 0);
	counts_check();
	assert_true(refused > ERRORS / 10);
}

/* ---- a list that is read while a writer is at work */

static struct state always, ever; /* members since the list was begun */
static uint8_t listed[SETS][UNIVERSE];
static uint32_t meanwhile;
static bool changing;

static void always_update(bool first)
{
	for (uint32_t set = 0; set < SETS; set++)
		for (uint32_t i = 0; i < UNIVERSE; i++) {
			always.held[set][i] =
				(first || always.held[set][i]) && holds(&before, set, i);
			ever.held[set][i] = (!first && ever.held[set][i]) || holds(&before, set, i);
		}
}

/* Between two pages that are read, the writer may make a change. */
static int read_beside(void *arg, const struct rl_member_key *key, union rl_member_page *page)
{
	if (!changing && !below(8)) {
		changing = true;
		meanwhile++;
		assert_int_equal(random_change(), 0);
		readers_end();
		before = after;
		always_update(false);
		changing = false;
	}
	return table.store.read(arg, key, page);
}

static int list(uint32_t set, const struct member_entry *entry, void *arg)
{
	(void)arg;
	listed[set][universe_find(&entry->member)]++;
	return 0;
}

TEST(listed_test, model_begin, model_end)
{
	assert_int_equal(member_table_begin(&table), 0);
	for (int round = 0; round < LISTS; round++) {
		struct member_table reader = table;

		memset(listed, 0, sizeof(listed));
		always_update(true);
		reader.store.read = read_beside;
		assert_int_equal(member_table_walk(&reader, (1 << SETS) - 1, list, NULL), 0);
		for (uint32_t set = 0; set < SETS; set++)
			for (uint32_t i = 0; i < UNIVERSE; i++) {
				assert_true(listed[set][i] <= ever.held[set][i]);
				assert_true(listed[set][i] >= always.held[set][i]);
			}
		random_change();
		readers_end();
		before = after;
	}
	assert_true(meanwhile > LISTS / 2);
}

/* Networks that meet in one entry of the guide, where each adds a length, are found for one seed,
 * and are scattered under the next: those who choose members do not know it. */
TEST(guide_seed_test)
{
	static const __u64 known[2] = {3, 5}, drawn[2] = {0x243f6a8885a308d3, 0x13198a2e03707344};
	uint8_t used[RL_GUIDE6_SIZE] = {0};
	uint32_t meet = 0, entries = 0;

	for (uint32_t first = 0; meet < 97; first++) {
		uint32_t entry;

		if (guide6_index(known, first))
			continue;
		entry = guide6_index(drawn, first);
		assert_in_range(entry, 0, RL_GUIDE6_SIZE - 1);
		meet++;
		entries += !used[entry]++;
	}
	assert_in_range(entries, 80, 97); /* 92.6 on average */
}
