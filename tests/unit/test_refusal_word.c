// SPDX-License-Identifier: GPL-2.0-only
/* The word of a cached refusal: never valid longer than it is true, whatever the clock; with a
 * clock whose ticks are longer than a unit, valid at every tick at which it is true except within a
 * unit of its end; never valid for another key, in another epoch or under another policy.
 */
#include <stdint.h>

#include "algorithm/refusal_word.h"
#include "cases.h"
#include "random.h"

#define MS       1000000ull
#define UNIT     (1ull << REFUSAL_UNIT_SHIFT)
#define EPOCH    (1ull << REFUSAL_EPOCH_SHIFT)
#define SLOT_MAX ((1u << RL_REFUSAL_COUNTER_BITS) - 1)
#define TRIES    20000
#define TICKS    40

static uint64_t seed_state = 20261120;

static uint64_t any(void)
{
	return random_next(&seed_state);
}

/* As a packet asks. */
static bool is_refused(uint64_t word, uint64_t address, uint64_t generation, uint64_t now)
{
	return refusal_is_of(word, refusal_owner(address, generation, now)) &&
	       refusal_unit(now) < refusal_end_unit(word);
}

static uint64_t word_of(uint64_t address, uint64_t now, uint64_t until, uint64_t tick)
{
	return refusal_word(refusal_owner(address, 1, now), now, until, tick, any() & SLOT_MAX);
}

static const uint64_t begins[] = {MS, 1ull << 32, (1ull << 63) - 9 * MS, 0 - 9 * MS, 0 - MS / 2};
static const uint64_t ticks[] = {2 * MS, 4 * MS, 10 * MS}; /* HZ 500, 250, 100 */

NAMED_TEST("by ticks", tick_test)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t tick = ticks[i % ARRAY_SIZE(ticks)], address = any();
		uint64_t now = begins[any() % ARRAY_SIZE(begins)] + any() % (3 * EPOCH);
		uint64_t left = 1 + any() % (TICKS * tick), word;

		word = word_of(address, now, now + left, tick);
		for (uint64_t at = 0; at < (TICKS + 2) * tick; at += tick) {
			bool refused = is_refused(word, address, 1, now + at);

			if (refused)
				assert_true(at < left);
			else if (at < left) /* it ends with its epoch, a unit early */
				assert_true(left - at < UNIT || (now + at) / EPOCH != now / EPOCH ||
					    refusal_unit(now + at) == REFUSAL_UNITS - 1);
			lost += at < left && !refused;
		}
	}
	assert_true(lost > 0); /* or the second half was not tried */
}

NAMED_TEST("at any time", any_time_test)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t now = begins[any() % ARRAY_SIZE(begins)] + any() % (3 * EPOCH);
		uint64_t address = any(), left = 1 + any() % (i % 2 ? 4 * UNIT : 1ull << 60);
		uint64_t word = word_of(address, now, now + left, i % 3 ? 0 : MS);

		assert_false(is_refused(word, address, 1, now + left));
		assert_false(is_refused(word, address, 1, now + left + any() % EPOCH));
		assert_true(!word || is_refused(word, address, 1, now));
		assert_int_equal(word && refusal_is_idle(word, now), 0);
	}
}

NAMED_TEST("whose it is", owner_test)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t address = any(), other = address ^ 1ull << (REFUSAL_TAG_SHIFT +
								     i % (64 - REFUSAL_TAG_SHIFT));
		uint64_t now = any() >> 1 | EPOCH / 2; /* so that the next unit is of its epoch */
		uint64_t word = word_of(address, now & ~(EPOCH / 2), now + EPOCH / 4, 0);

		now &= ~(EPOCH / 2);
		assert_true(is_refused(word, address, 1, now));
		assert_false(is_refused(word, other, 1, now));
		assert_false(is_refused(word, address, 2 + i, now));
		assert_false(is_refused(word, address, 1, now + (1 + i) * EPOCH));
		assert_true(refusal_is_idle(word, now + (1 + i % (REFUSAL_EPOCHS - 1)) * EPOCH));
		assert_false(is_refused(0, address, 1, now));
		assert_true(refusal_is_idle(0, now));
	}
}

/* Not all refusals end at once; the number of parts of an epoch stays. */
NAMED_TEST("not all end at once", epochs_test)
{
	uint64_t now = any() >> 1;
	uint32_t at_an_end = 0;

	for (uint32_t set = 0; set < 4 * REFUSAL_UNITS; set++) {
		uint64_t time = refusal_time(now, set);

		at_an_end += refusal_unit(time) == REFUSAL_UNITS - 1;
		assert_int_equal(time % UNIT, now % UNIT);
		assert_int_equal(refusal_time(now + EPOCH, set), time + EPOCH);
	}
	assert_int_equal(at_an_end, 4);
}

NAMED_TEST("the counters' slot", slot_test)
{
	for (uint32_t slot = 0; slot <= SLOT_MAX; slot += 1 + slot / 3) {
		assert_int_equal(refusal_counter_id(refusal_word(~0ull << REFUSAL_OWNER_SHIFT, MS,
								 9 * MS, 0, slot)),
				 slot);
		assert_int_equal(refusal_counter_id(refusal_word(0, MS, MS + 1, 4 * MS, slot)),
				 slot);
	}
	assert_int_equal(refusal_counter_id(refusal_word(0, MS, 9 * MS, 0, SLOT_MAX)), SLOT_MAX);
}
