// SPDX-License-Identifier: GPL-2.0-only
/* One set of the hot table, slot by slot: which source is evicted when a fifth arrives, the state
 * kept of it, when the LRU behind is looked up, and the effect of a changed policy or of forgiving
 * on all that.
 *
 * The table has four sets; sources that share one are found by computing it (harness_neighbours).
 */
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/hot_hint.h"
#include "base/units.h"
#include "harness.h"

#define CROWD 16

static struct harness *h;
HARNESS_OF_EACH(set_up, tear_down, h, .sources = 16)
static struct rl_rule numbers; /* of the first rule */
static uint8_t crowd[CROWD][16];

/* A policy of one limit, and sources of one set under it. */
static void crowd_meet(const char *rules)
{
	harness_policy(h, rules);
	numbers = harness_numbers(h, 0);
	harness_neighbours(h, &numbers, 0, crowd, CROWD);
}

static void wait_ns(uint64_t ns)
{
	harness_clock(h, h->now_ns + ns);
}

/* Sources first..last send so many packets each, a second apart; all are within. */
static void crowd_send(int first, int last, uint32_t packets)
{
	for (int i = first; i <= last; i++) {
		assert_int_equal(harness_within(h, crowd[i], packets), packets);
		wait_ns(NS_PER_SECOND);
	}
}

static struct rl_hot_slot *slot_of(int who)
{
	return harness_slot(h, &numbers, crowd[who]);
}

static struct rl_hot_set *crowd_set(void)
{
	return &h->table.sets[harness_key(h, &numbers, crowd[0]).set];
}

static bool hint_is_set(void)
{
	return crowd_set()->slot[0].fingerprint & HOT_HINT;
}

static uint64_t spilled_word(int who)
{
	struct hot_key key = harness_key(h, &numbers, crowd[who]);
	uint64_t word = 0;

	bpf_map_lookup_elem(h->policy_maps[POLICY_MAP_spilled], &key.fingerprint, &word);
	return word;
}

/* ---- eviction */

NAMED_TEST("idle ones go for nothing", idle_test, set_up, tear_down)
{
	crowd_meet("any limit 1/s burst 4");
	crowd_send(0, 3, 4);
	wait_ns(4 * NS_PER_SECOND);
	crowd_send(4, 7, 4);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
	wait_ns(4 * NS_PER_SECOND);
	for (int i = 0; i < 4; i++)
		assert_int_equal(harness_within(h, crowd[i], 9), 4);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
	assert_false(hint_is_set());
}

/* To the nanosecond: a word equal to the current time has ended. */
NAMED_TEST("idle to the nanosecond", idle_edge_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 1");
	for (int i = 0; i < 4; i++)
		assert_int_equal(harness_within(h, crowd[i], 1), 1);
	wait_ns(NS_PER_HOUR - 1);
	assert_int_equal(harness_within(h, crowd[0], 1), 0);
	wait_ns(1);
	assert_int_equal(harness_within(h, crowd[4], 1), 1);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
}

NAMED_TEST("four fit", four_fit_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	for (int round = 0; round < 4; round++)
		crowd_send(0, 3, 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(harness_within(h, crowd[i], 5), 0);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_STRANGERS), 4);
}

/* The source with the shortest debt, seen once, is evicted: one packet of debt is forgotten. */
NAMED_TEST("seen once: one packet forgotten", once_seen_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 4, 1);
	assert_null(slot_of(0));
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 1);
	assert_int_equal(harness_pressure(h, RL_PRESSURE_SPILLS), 0);
	assert_false(hint_is_set());
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
}

/* A source that came back is spilled, and is held to its debt before it has a slot again, and when
 * it has one. */
NAMED_TEST("came back: spilled and reloaded", came_back_test, set_up, tear_down)
{
	uint64_t start_ns = h->now_ns;

	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 4, 4);
	assert_null(slot_of(0));
	assert_int_equal(harness_pressure(h, RL_PRESSURE_SPILLS), 1);
	assert_true(hint_is_set());
	for (uint64_t hour = 1; hour < 4; hour++) {
		harness_clock(h, start_ns + hour * NS_PER_HOUR - 1);
		assert_int_equal(harness_within(h, crowd[0], 9), 0);
		wait_ns(1);
		assert_int_equal(harness_within(h, crowd[0], 9), 1);
		assert_non_null(slot_of(0));
	}
}

/* A source that was spilled once came back: evicted again, it is spilled again. */
NAMED_TEST("came back twice: spilled twice", came_back_twice_test, set_up, tear_down)
{
	uint32_t within;

	crowd_meet("any limit 1/h burst 8");
	within = harness_within(h, crowd[0], 4);
	crowd_send(1, 4, 8);
	assert_null(slot_of(0));
	for (int i = 0; i < 8; i++) {
		within += harness_within(h, crowd[0], 1);
		crowd_send(5 + i, 5 + i, 8);
		assert_null(slot_of(0));
	}
	assert_int_equal(within, 8);
}

/* A source that comes back and is refused counts as come back, whether or not the refusal may be
 * cached. */
static const struct {
	const char *name, *rules;
} refusals[] = {
	{"came back and was refused: spilled", "any limit 1/h burst 1"},
	{"came back and was refused, which does not stand: spilled",
	 "any limit 1/h burst 1; 192.0.2.9 limit 1/h over ban 1s source"},
};

ROWS(came_back_refused_test, refusals, row, set_up, tear_down)
{
	crowd_meet(row->rules);
	assert_int_equal(harness_within(h, crowd[0], 9), 1);
	wait_ns(1);
	crowd_send(1, 4, 1);
	assert_null(slot_of(0));
	assert_int_equal(harness_within(h, crowd[0], 9), 0);
}

/* ---- the hint */

NAMED_TEST("the LRU is asked on a miss with a hint", hint_test, set_up, tear_down)
{
	struct hot_key key;
	uint64_t word, hint;

	crowd_meet("any limit 1/h burst 2");
	key = harness_key(h, &numbers, crowd[0]);
	word = (h->now_ns + 9 * NS_PER_HOUR) << RL_GRAIN_SHIFT;
	hint = hot_hint(h->now_ns << RL_GRAIN_SHIFT, (9 * NS_PER_HOUR) << RL_GRAIN_SHIFT);
	assert_int_equal(
		bpf_map_update_elem(h->policy_maps[POLICY_MAP_spilled], &key.fingerprint, &word, 0),
		0);
	assert_int_equal(harness_within(h, crowd[0], 1), 1); /* no hint: no look-up */
	h->table.sets[key.set].slot[0].fingerprint |= hint;
	assert_int_equal(harness_within(h, crowd[0], 1), 1); /* no miss: no look-up */
	h->table.sets[key.set] = (struct rl_hot_set){0};
	h->table.sets[key.set].slot[0].fingerprint = hint;
	assert_int_equal(harness_within(h, crowd[0], 1), 0);
	assert_int_equal(harness_within(h, crowd[1], 9), 2);
	assert_true(hint_is_set());
}

/* The hint stays while other sources take over its slot. */
NAMED_TEST("the hint stays", hint_stays_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 4, 4);
	for (int i = 5; i < CROWD; i++) {
		crowd_send(i, i, 4);
		assert_true(hint_is_set());
	}
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(harness_within(h, crowd[i], 9), 0);
}

static const struct aging {
	const char *rule;
	uint64_t debt_ns;
} agings[] = {
	{"any limit 1/s burst 1", NS_PER_SECOND}, {"any limit 1/s burst 4", 4 * NS_PER_SECOND},
	{"any limit 1/m burst 1", NS_PER_MINUTE}, {"any limit 1/h burst 5", 5 * NS_PER_HOUR},
	{"any limit 1/d burst 1", NS_PER_DAY},
};

/* Everything in the set is lost, except for the hint. */
static void crowd_lose(void)
{
	struct rl_hot_set *set = crowd_set();
	uint64_t hint = set->slot[0].fingerprint & HOT_HINT;

	*set = (struct rl_hot_set){.slot[0].fingerprint = hint};
}

/* The hint of a source that was spilled with a full bucket stands while the source owes, whichever
 * sources miss meanwhile, and is gone after eight times as long. */
ROWS(hint_ends_test, agings, aging, set_up, tear_down)
{
	uint32_t burst;

	crowd_meet(aging->rule);
	burst = numbers.limit.size;
	for (int i = 0; i < 5; i++)
		assert_int_equal(harness_within(h, crowd[i], burst + 1), burst);
	assert_true(spilled_word(0) != 0);
	wait_ns(aging->debt_ns / 2);
	assert_int_equal(harness_within(h, crowd[5], 1), 1);
	wait_ns(aging->debt_ns / 2 - 1);
	assert_int_equal(harness_within(h, crowd[0], burst + 1), burst - 1);
	for (int i = 0; i < 56; i++) {
		crowd_lose();
		wait_ns(aging->debt_ns / 8);
		assert_int_equal(harness_within(h, crowd[6], 1), 1);
	}
	assert_false(hint_is_set());
}

static const struct lasting {
	const char *rule;
	uint32_t most;  /* packets in 20 s, however they come */
	uint32_t turns; /* after which the slot is lost */
} lastings[] = {
	{"any limit fixed-window 2/20s", 4, 1},     {"any limit sliding-window 2/20s", 2, 1},
	{"any limit sliding-log 2/20s", 2, 1},      {"any limit fixed-window 2/20s", 4, 293},
	{"any limit sliding-window 2/20s", 2, 293}, {"any limit sliding-log 2/20s", 2, 293},
};

/* A state in an LRU is found for as long as it matters, however long that goes on, though its slot
 * is lost again and again: every packet that it admits lets the hint last. */
ROWS(hint_lasts_test, lastings, lasting, set_up, tear_down)
{
	uint64_t times[256] = {0};
	uint32_t count = 0;

	crowd_meet(lasting->rule);
	assert_int_equal(harness_within(h, crowd[0], 3), 2);
	for (int turn = 0; turn < 2000; turn++) {
		wait_ns(NS_PER_SECOND);
		if (turn % 7 == 3)
			harness_within(h, crowd[1 + turn / 7 % (CROWD - 1)], 1); /* which misses */
		if (turn % lasting->turns == 0)
			crowd_lose();
		if (!harness_within(h, crowd[0], 1))
			continue;
		assert_true(count < lasting->most ||
			    h->now_ns - times[(count - lasting->most) % 256] >= 18 * NS_PER_SECOND);
		times[count++ % 256] = h->now_ns;
	}
	assert_true(count > 150);
}

/* ---- another policy */

/* A spilled source's debt under the old rate does not delay it under the new one. */
NAMED_TEST("a faster rate acts on spilled ones", faster_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 9");
	crowd_send(0, 4, 9);
	assert_true(spilled_word(0) != 0);
	harness_policy(h, "any limit 1/s burst 9");
	assert_int_equal(harness_within(h, crowd[0], 1), 0);
	wait_ns(18 * NS_PER_SECOND);
	assert_true(harness_within(h, crowd[0], 1) == 1);
}

NAMED_TEST("another algorithm begins anew", other_limit_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 5, 4);
	harness_policy(h, "any limit leaky-bucket 1/h queue 4");
	for (int i = 0; i < 6; i++)
		assert_int_equal(harness_within(h, crowd[i], 9), 4);
}

/* ---- forgiven */

NAMED_TEST("forgiven in a slot", forgive_slot_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 1, 4);
	assert_int_equal(harness_forgive(h, crowd[0]), 1);
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
	assert_int_equal(harness_within(h, crowd[1], 9), 0);
}

NAMED_TEST("forgiven and spilled", forgive_spilled_test, set_up, tear_down)
{
	crowd_meet("any limit 1/h burst 4");
	crowd_send(0, 4, 4);
	assert_true(spilled_word(0) != 0);
	assert_int_equal(harness_forgive(h, crowd[0]), 1);
	assert_true(spilled_word(0) == 0);
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
}

static const char *const forgiven[] = {
	"any limit 1/h burst 4",
	"any limit 1/h burst 4 per source+dport",
	"any limit 1/h burst 4 per source/16",
	"any limit fixed-window 4/h",
	"any limit sliding-window 4/h",
	"any limit sliding-log 4/h",
	"any limit fixed-window 4/h per source+dport",
	"any limit sliding-log 4/h per source+dest",
};

ROWS(forgive_test, forgiven, row, set_up, tear_down)
{
	harness_policy(h, *row);
	address_ip4(crowd[0], 1);
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
	assert_int_equal(harness_forgive(h, crowd[0]), 1);
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
}

/* As the LRU does for want of room. */
static void logs_lose(void)
{
	int fd = policy_map_open(&h->instance, POLICY_MAP_logs);
	struct rl_state_key key;
	uint32_t lost = 0;

	assert_true(fd >= 0);
	for (; !bpf_map_get_next_key(fd, NULL, &key); lost++)
		assert_int_equal(bpf_map_delete_elem(fd, &key), 0);
	close(fd);
	assert_int_equal(lost, 1);
}

/* The LRU may have evicted the log: the refusal in the hot table is then all that is left. */
NAMED_TEST("forgiven when only the refusal is left", forgive_refusal_alone_test, set_up, tear_down)
{
	crowd_meet("any limit sliding-log 4/h");
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
	logs_lose();
	assert_non_null(slot_of(0));
	assert_true(slot_of(0)->fingerprint & HOT_REFUSED);
	assert_int_equal(harness_within(h, crowd[0], 9), 0);
	assert_int_equal(harness_forgive(h, crowd[0]), 1);
	assert_int_equal(harness_within(h, crowd[0], 9), 4);
}

/* A confirmed key whose log is gone may send again: nothing is shown of it. */
NAMED_TEST("nothing is shown of a confirmed key without a state", confirmed_alone_test, set_up,
	   tear_down)
{
	crowd_meet("any limit sliding-log 4/h");
	assert_int_equal(harness_within(h, crowd[0], 2), 2);
	logs_lose();
	assert_non_null(slot_of(0));
	assert_true(slot_of(0)->fingerprint & HOT_REFUSED);
	assert_int_equal(harness_forgive(h, crowd[0]), 0);
	assert_true(harness_within(h, crowd[0], 1) > 0);
}

/* A refusal belongs to the policy that it was given under: a larger N acts at once. */
NAMED_TEST("a larger N acts at once", raise_test, set_up, tear_down)
{
	static const char *const forms[] = {"fixed-window %u/h", "sliding-window %u/h",
					    "sliding-log %u/h"};
	char rule[80], words[64];

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		address_ip4(crowd[0], 1 + i);
		for (uint32_t n = 4; n <= 20; n += 4) {
			snprintf(words, sizeof(words), forms[i], n);
			snprintf(rule, sizeof(rule), "any limit %s", words);
			harness_policy(h, rule);
			wait_ns(NS_PER_SECOND); /* for another state may then be made */
			assert_int_equal(harness_within(h, crowd[0], 9), 4);
		}
	}
}

/* ---- keys of more than an address */

static const struct cycle {
	const char *name, *rule;
	bool dest;
} cycles[] = {
	{"one source to many ports", "any limit 1/h burst 1 per source+dport", false},
	{"one source with many flows", "any limit 1/h burst 1 per flow", false},
	{"one source to many destinations", "any limit 1/h burst 1 per source+dest", true},
};

/* No key gets more for having other keys of the same source beside it. */
ROWS(cycle_test, cycles, cycle)
{
	static const struct harness_options options = {.sources = 4096};
	struct harness *own = harness_must_open(&options);
	uint32_t within = 0;
	struct frame frame;
	uint8_t dest[16];

	harness_policy(own, cycle->rule);
	frame_build(&frame, "ip4 udp");
	for (uint32_t i = 0; i < 160; i++) {
		address_ip4(dest, cycle->dest ? i % 16 : 0);
		frame_dest(&frame, dest);
		frame_ports(&frame, 9, cycle->dest ? 9 : 1 + i % 16);
		within += harness_run(own, &frame) == RL_REASON_WITHIN;
	}
	harness_close(own);
	assert_int_equal(within, 16);
}

/* Source and destination are not interchangeable: A to B differs from B to A, A to A from C to C.
 */
NAMED_TEST("directions are told apart", swapped_test, set_up, tear_down)
{
	static const int ends[][2] = {{0, 1}, {1, 0}, {0, 0}, {1, 1}, {2, 2}};
	struct frame frame;

	crowd_meet("any limit 1/h burst 1 per source+dest");
	frame_build(&frame, "ip4 udp");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		frame_source(&frame, crowd[ends[i][0]]);
		frame_dest(&frame, crowd[ends[i][1]]);
		assert_int_equal(harness_run(h, &frame), RL_REASON_WITHIN);
	}
}
