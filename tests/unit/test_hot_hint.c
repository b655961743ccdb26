// SPDX-License-Identifier: GPL-2.0-only
/* Hints of the hot table: each holds for as long as its debt, and for at most eight times as long;
 * one that has ended is seen to have, and what a later one adds never takes anything away.
 */

#include "algorithm/hot_hint.h"
#include "cases.h"
#include "random.h"

#define SECOND (16ull * 1000000000)
#define TICK   (SECOND / 100)
#define LEAST  (1ull << 34) /* grains of the shortest epoch */

static const struct row {
	const char *name;
	uint64_t debt;
} rows[] = {
	{"a grain", 1},
	{"a second", SECOND},
	{"an epoch", LEAST - HOT_HINT_LATE},
	{"an epoch and a grain", LEAST - HOT_HINT_LATE + 1},
	{"a minute", 60 * SECOND},
	{"a day", 86400 * SECOND},
	{"a year", 31536000 * SECOND},
	{"the longest", (1ull << 60) - HOT_HINT_LATE},
};

static uint64_t most_of(uint64_t debt)
{
	return debt + HOT_HINT_LATE > LEAST ? 8 * (debt + HOT_HINT_LATE) : 2 * LEAST;
}

/* Whenever it was set, the epoch's edges included. */
static void holds_test(void **state)
{
	const struct row *row = *state;
	uint64_t seed = 7;

	for (int i = 0; i < 10000; i++) {
		uint64_t now = random_next(&seed) >> (i % 2 ? 0 : 20), most = most_of(row->debt);
		uint64_t hint = hot_hint(now, row->debt), left = hot_hint_left(hint, now);

		assert_int_equal(hint & ~HOT_HINT, 0);
		assert_true(left >= row->debt && (left <= most));
		assert_int_equal(hot_hint_left(hint, now + row->debt - 1), left - row->debt + 1);
		assert_int_equal(hot_hint_left(hint, now + left - 1), 1);
		assert_int_equal(hot_hint_left(hint, now + left), 0);
		assert_true(hot_hint_left(hint, now - TICK) >=
			    row->debt); /* by a clock that is late */
		assert_int_equal(hot_hint_left(hint | HOT_AGAIN | HOT_REFUSED, now), left);
	}
}

/* For six epochs it is seen to have ended. */
static void ends_test(void **state)
{
	const struct row *row = *state;
	uint64_t seed = 9;

	for (int i = 0; i < 10000; i++) {
		uint64_t now = random_next(&seed), hint = hot_hint(now, row->debt);
		uint64_t end = now + hot_hint_left(hint, now);
		uint64_t epoch = 1ull << hot_hint_log(hint >> HOT_HINT_SCALE_SHIFT);

		for (int k = 0; k < 6; k++)
			assert_int_equal(hot_hint_left(hint, end + k * epoch), 0);
		assert_int_equal(hot_hint_left(hint, end + 6 * epoch - 1), 0);
	}
}

/* Without flags there is no hint, whatever else is in the fingerprint. */
NAMED_TEST("none", none_test)
{
	uint64_t seed = 3;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(hot_hint_left(random_next(&seed) & ~HOT_HINT, random_next(&seed)),
				 0);
}

AT_START(rows_of_both_add)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_add_named(holds_test, &rows[i], "holds: %s", rows[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_add_named(ends_test, &rows[i], "ends: %s", rows[i].name);
}
