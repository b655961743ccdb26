// SPDX-License-Identifier: GPL-2.0-only
/* Until when a refusal stands: never longer than it is true, whatever the clock, and of a clock
 * that tells ticks at every tick at which it is true, but for those within half a millisecond of
 * its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algorithm/standing_word.h"
#include "random.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MS            (1000000ull << RL_GRAIN_SHIFT)
#define SLOT_MAX      ((1u << RL_STANDING_SLOT_BITS) - 1)
#define TRIES         20000
#define TICKS         40

static uint64_t seed_state = 20261120;

static uint64_t any(void)
{
	return random_next(&seed_state);
}

/* As a packet asks. */
static bool is_refused(uint64_t word, uint64_t now)
{
	return (int64_t)(word - now) > 0;
}

static const uint64_t begins[] = {MS, 1ull << 32, (1ull << 63) - 9 * MS, 0 - 9 * MS, 0 - MS / 2};
static const uint64_t ticks[] = {MS, 2 * MS, 4 * MS, 10 * MS}; /* HZ 1000, 500, 250, 100 */

static void tick_test(void **unused)
{
	uint64_t lost = 0;

	(void)unused;
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t tick = ticks[i % ARRAY_SIZE(ticks)];
		uint64_t now = begins[any() % ARRAY_SIZE(begins)] + any() % MS;
		uint64_t until = now + 1 + any() % (TICKS * tick);
		uint64_t word = standing_word(until, now, true, any() & SLOT_MAX);

		assert_true(is_refused(word, now));
		for (uint64_t at = now; at - now < (TICKS + 2) * tick; at += tick) {
			bool truly = is_refused(until, at);

			if (is_refused(word, at))
				assert_true(truly);
			else if (truly)
				assert_true(until - at < MS * 53 / 100);
			lost += truly && !is_refused(word, at);
		}
	}
	assert_true(lost > 0); /* or the second half was not tried */
}

static void any_time_test(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t now = begins[any() % ARRAY_SIZE(begins)] + any() % MS;
		uint64_t until = now + 1 + any() % (i % 2 ? MS : 1ull << 60);
		uint64_t word = standing_word(until, now, false, any() & SLOT_MAX);

		assert_false(is_refused(word, until));
		assert_true(until - word < MS * 53 / 100);
	}
}

static void slot_test(void **unused)
{
	(void)unused;
	for (uint32_t slot = 0; slot <= SLOT_MAX; slot += 1 + slot / 3) {
		assert_int_equal(standing_slot(standing_word(9 * MS, MS, true, slot)), slot);
		assert_int_equal(standing_slot(standing_word(9 * MS, MS, false, slot)), slot);
	}
	assert_int_equal(standing_slot(standing_word(9 * MS, MS, true, SLOT_MAX)), SLOT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"by ticks", tick_test, NULL, NULL, NULL},
		{"at any time", any_time_test, NULL, NULL, NULL},
		{"the counters' slot", slot_test, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
