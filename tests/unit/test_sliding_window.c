// SPDX-License-Identifier: GPL-2.0-only
/* The data path's sliding window against the exact model: every verdict, slot and sum, the state
 * that a refused packet leaves unchanged, refunds, and the corners of the range.
 */
#include "models.h"

#include "algorithm/sliding_window.h"
#include "turns.h"

struct slots_pair {
	struct rl_limit limit;
	struct rl_window window;
	struct rl_slots state;
	struct slots_model model;
};

static void slots_start(struct slots_pair *p, const struct rl_limit *limit)
{
	*p = (struct slots_pair){.limit = *limit, .model = slots_model(limit)};
	window_compile(limit, &p->window);
}

static uint64_t slots_sum(struct slots_pair *p, uint64_t now_ns)
{
	uint64_t slot = sliding_window_slot(&p->window, now_ns);
	uint64_t sum = sliding_window_sum(&p->window, &p->state, slot);

	assert_true(slot == slots_model_slot(&p->model, now_ns));
	assert_true((u128)sum * p->model.unit == slots_model_sum(&p->model, now_ns));
	return sum;
}

static bool slots_offer(struct slots_pair *p, uint64_t now_ns, uint64_t amount, __u64 *taken)
{
	struct rl_slots before = p->state;
	bool should = slots_model_admits(&p->model, now_ns, amount);

	slots_sum(p, now_ns);
	assert_true(sliding_window_admits(&p->window, &p->state, now_ns, amount) == should);
	if (sliding_window_consume(&p->window, &p->state, now_ns, amount, taken) != should)
		fail_msg("%llu at %llu: %s wrongly", (unsigned long long)amount,
			 (unsigned long long)now_ns, should ? "refused" : "admitted");
	if (!should) {
		assert_memory_equal(&before, &p->state, sizeof(before));
		return false;
	}
	slots_model_take(&p->model, now_ns, amount);
	assert_true(slots_sum(p, now_ns) <= p->window.amount);
	return true;
}

static void slots_refund(struct slots_pair *p, uint64_t now_ns, uint64_t amount, __u64 taken)
{
	sliding_window_refund(&p->window, &p->state, taken, amount);
	p->model.part[p->model.count - 1].sum -= (u128)amount * p->model.unit;
	slots_sum(p, now_ns);
}

/* The first instant of the next slot. */
static uint64_t slots_edge(const struct slots_pair *p, uint64_t now_ns)
{
	u128 slot = slots_model_slot(&p->model, now_ns) + 1;

	return (slot * p->model.period_ns + p->model.slots - 1) / p->model.slots;
}

static void slots_walk(const struct rl_limit *limit, uint64_t start_ns, unsigned int steps)
{
	struct trace t = trace_start(limit, start_ns);
	struct slots_pair p;
	__u64 taken = 0;

	slots_start(&p, limit);
	for (unsigned int i = 0; i < steps; i++) {
		uint64_t amount = trace_amount(limit, p.window.amount - slots_sum(&p, t.now_ns));

		if (slots_offer(&p, t.now_ns, amount, &taken) && !random_below(8))
			slots_refund(&p, t.now_ns, amount, taken);
		trace_wait(&t, slots_edge(&p, t.now_ns));
	}
}

/* ---- rows */

static const char *const rates[] = {
	"sliding-window 1/day",
	"sliding-window 3/second slots 2",
	"sliding-window 7/13s slots 7",
	"sliding-window 1000/second",
	"sliding-window 1000/second slots 16",
	"sliding-window 100m/second slots 3",
	"sliding-window 2/20ns slots 16",
	"sliding-window 1/10ns slots 10",
	"sliding-window 64kbit slots 13",
	"sliding-window 12345678byte/s slots 16",
	"sliding-window 12119bit/7us slots 3",
	"sliding-window 10gbit",
	"sliding-window 400gbit slots 16",
	"sliding-window 1514byte/31ns slots 16",
	"sliding-window 281474976710655/2814750s slots 16",
	"sliding-window 4503599627370495byte/2d slots 16",
};

ROWS(walk_test, rates, row)
{
	struct rl_limit limit = limit_of(*row);

	random_start(20240711);
	for (size_t i = 0; i < CLOCKS; i++)
		slots_walk(&limit, clocks[i], TURNS(100000));
}

TEST(random_test)
{
	char line[RATE_TEXT_MAX], text[RATE_TEXT_MAX + 16];

	random_start(20240712);
	for (int i = 0; i < TURNS(3000); i++) {
		struct rl_limit limit;
		int slots = 2 + i % 15;

		random_rate(line, sizeof(line), "sliding-window", i / 15 % 2, (1ull << 52) - 1);
		snprintf(text, sizeof(text), "%s slots %d", line, slots);
		if (limit_parse(text, &limit)) /* a period may be too short for the slots */
			slots_walk(&limit, clocks[i % CLOCKS], 400);
	}
}

/* Slots are aligned to the clock; a burst is forgotten by exactly its slot's end and P. */
TEST(edge_test)
{
	for (uint32_t slots = 2; slots <= RL_SLOTS_MAX; slots++) {
		struct rl_limit limit = limit_of("sliding-window 5/997us");
		struct slots_pair p;
		__u64 taken;

		limit.slots = slots;
		slots_start(&p, &limit);
		for (uint64_t slot = 0; slot < TURNS(100000); slot += 1 + slot % 40) {
			uint64_t first = (slot * limit.period_ns + slots - 1) / slots;
			uint64_t free = ((slot + slots) * limit.period_ns + slots - 1) / slots;

			p.state = (struct rl_slots){0};
			p.model.count = 0;
			assert_true(slots_offer(&p, first, 5, &taken));
			assert_false(slots_offer(&p, first, 1, &taken));
			assert_false(slots_offer(&p, free - 1, 1, &taken));
			assert_true(slots_offer(&p, free, 5, &taken));
		}
	}
}

/* ---- another rate on an old state, which it acts on at once */

static const struct {
	const char *name, *before, *after;
} changes[] = {
	{"rate lowered", "sliding-window 200/s", "sliding-window 130/s"},
	{"rate raised", "sliding-window 130/s", "sliding-window 200/s"},
	{"rate lowered, fewer bits", "sliding-window 200/s", "sliding-window 100/s"},
	{"rate raised, more bits", "sliding-window 100/s", "sliding-window 200/s"},
	{"bytes raised, more bits", "sliding-window 10mbit", "sliding-window 10gbit"},
};

ROWS(change_test, changes, row)
{
	struct rl_limit before = limit_of(row->before), after = limit_of(row->after);
	struct slots_pair p;
	__u64 taken;

	slots_start(&p, &before);
	assert_true(slots_offer(&p, NS_PER_DAY, p.window.amount, &taken));
	window_compile(&after, &p.window);
	p.model.amount = after.amount;
	if (p.window.amount > before.amount / bits_of(&before))
		assert_true(slots_offer(&p, NS_PER_DAY + 1, 1, &taken));
	assert_false(slots_offer(&p, NS_PER_DAY + 2, p.window.amount, &taken));
	assert_true(slots_offer(&p, NS_PER_DAY + NS_PER_SECOND, p.window.amount - 1, &taken));
}

/* Other slots or another period: the old words are worth nothing. One may look by chance like one
 * of the new slots, rarely; then a packet is refused, never admitted. */
TEST(reslot_test)
{
	static const char *const sequence[] = {
		"sliding-window 10/s slots 2",       "sliding-window 10/s slots 16",
		"sliding-window 4000/ms slots 7",    "sliding-window 10/day slots 10",
		"sliding-window 100kbyte/s slots 3",
	};
	unsigned int admitted = 0;
	struct rl_slots slots = {0};
	uint64_t now_ns = clocks[3];

	random_start(20240713);
	for (unsigned int i = 0; i < 20000; i++) {
		struct rl_limit limit = limit_of(sequence[random_below(ARRAY_SIZE(sequence))]);
		struct rl_window w;
		__u64 taken;

		window_compile(&limit, &w);
		now_ns += 2 * limit.period_ns;
		if (sliding_window_consume(&w, &slots, now_ns, w.amount, &taken)) {
			assert_false(sliding_window_consume(&w, &slots, now_ns, 1, &taken));
			admitted++;
		}
		now_ns += random_below(NS_PER_SECOND);
	}
	assert_true(admitted >= 19980);
}

/* The limit holds for every rate that the parser accepts; the parser refuses rates for which it
 * could not. */
TEST(range_test)
{
	static const char *const held[] = {
		"sliding-window 4503599627370495byte/2d slots 16",
		"sliding-window 4503599627370495byte/6000d slots 2",
		"sliding-window 36028797018963967bit/2d slots 16",
		"sliding-window 281474976710656/6000d slots 16",
		"sliding-window 30000/6000d slots 16",
	};
	static const char *const refused[] = {
		"sliding-window 4503599627370497byte/2d slots 16",
		"sliding-window 18446744073709551615byte/40000d",
		"sliding-window 1152921504606846975byte/10000d slots 16",
		"sliding-window 53000/4611686018427387904ns slots 16",
		"sliding-window 30000/25000d slots 16",
		"sliding-window 30000/25000d slots 10",
	};

	random_start(20240714);
	must_refuse(refused, ARRAY_SIZE(refused));
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		struct rl_limit limit = limit_of(held[i]);
		struct slots_pair p;

		slots_start(&p, &limit);
		if (p.window.amount_bits > 52)
			fail_msg("%s is not held: %u bits leave none for the slots", held[i],
				 p.window.amount_bits);
		for (size_t k = 0; k < CLOCKS; k++)
			slots_walk(&limit, clocks[k], 2000);
	}
}

/* A refund that comes when the slot's word is another's is not given to it. */
TEST(late_refund_test)
{
	struct rl_limit limit = limit_of("sliding-window 10/s slots 10");
	struct slots_pair p;
	__u64 old = 0, taken = 0;

	slots_start(&p, &limit);
	assert_true(slots_offer(&p, 0, 3, &old));
	assert_true(slots_offer(&p, 16 * NS_PER_SECOND / 10, 4, &taken)); /* the same word */
	sliding_window_refund(&p.window, &p.state, old, 3);
	assert_int_equal(slots_sum(&p, 16 * NS_PER_SECOND / 10), 4);
}
