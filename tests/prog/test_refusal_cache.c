// SPDX-License-Identifier: GPL-2.0-only
/* Cached refusals (bpf/limit/refusal.h): which are cached; that none outlives the state it was made
 * from, nor applies to a packet that another rule decides; that they evict nothing.
 * test_hot_differential.c and test_bucket.c test that verdicts are the same with and without them.
 */
#include <string.h>

#include <bpf/bpf.h>

#include "algorithm/refusal_word.h"
#include "base/units.h"
#include "harness.h"
#include "scenario.h"

/* ---- what another rule decides; each frame twice, so that a refusal stands where it may */

static const struct scenario rows[] = {
	{"counted for the rule",
	 "= any limit 1/h burst 2 | 2 * ip4 udp : within | 9 * ip4 udp : over | # any limit 1/h "
	 "burst 2 : 2 9 0"},
	{"counted for the rule of the prefix", "= any limit 1/h burst 9; 192.0.0.0/16 limit 1/h "
					       "burst 2; 192.0.2.9 limit 1/h burst 1 | 2 * "
					       "ip4 udp : within | 9 * ip4 udp : over | "
					       "ip4=192.0.2.9 udp : within | 4 * ip4=192.0.2.9 udp "
					       ": over | # 192.0.0.0/16 limit 1/h burst 2 : 2 9 0 "
					       "| # 192.0.2.9 limit 1/h burst 1 : 1 4 0"},
	{"until the very nanosecond",
	 "= any limit 1/h burst 1 | ip4 udp : within | 2 * ip4 udp : over | + 59m | 2 * ip4 udp : "
	 "over | + 59999999us | 2 * ip4 udp : over | + 999ns | 2 * ip4 udp : over | + 1ns | ip4 "
	 "udp "
	 ": within | 2 * ip4 udp : over"},
	{"a condition at a longer prefix",
	 "= 192.0.2.1 udp limit 1/h burst 2; any limit 1/h burst 1 | ip4 tcp : within | 3 * ip4 "
	 "tcp "
	 ": over | 2 * ip4 udp : within | 3 * ip4 udp : over | 3 * ip4 tcp : over | # 192.0.2.1 "
	 "udp "
	 "limit 1/h burst 2 : 2 3 0 | # any limit 1/h burst 1 : 1 6 0"},
	{"a condition at a longer prefix, a limit at the next",
	 "= 192.0.2.1 udp allow; 192.0.2.0/24 limit 1/h burst 1 | ip4 tcp : within | 3 * ip4 tcp : "
	 "over | 3 * ip4 udp : allowed"},
	{"a condition in the same group",
	 "= any udp allow; any limit 1/h burst 1 | ip4 tcp : within | 3 * ip4 tcp : over | 3 * ip4 "
	 "udp : allowed"},
	{"a new source's limit", "= any new-source limit 1/h burst 1 per rule; any limit 1/h burst "
				 "3 | ip4 udp : within | 2 * "
				 "ip4 udp : within | 3 * ip4 udp : over"},
	{"what the device denies", "= any limit 1/h burst 1; device tcp deny | ip4 udp : within | "
				   "3 * ip4 udp : over | ip4 tcp "
				   ": over | ip4=192.0.2.7 tcp : denied"},
	{"who is banned", "= any limit 1/h burst 1; any tcp limit 1/h burst 1 over ban 1m source | "
			  "ip4 udp : within | 2 "
			  "* ip4 udp : over | 2 * ip4 tcp : over"},
	{"who is banned from everything",
	 "= any limit 1/h burst 1 over ban 1h; 192.0.2.9 limit 1/h over ban 1m source | ip4 udp : "
	 "within | ip4 udp : over | 2 * ip4 udp : banned"},
	{"small packets after large ones", "= any limit 1514byte/h burst 1514byte | ip4 udp "
					   "data=900 : within | 2 * ip4 udp data=900 : "
					   "over | ip4 udp data=100 : within"},
	{"ports of their own", "= any limit 1/h burst 1 per source+dport | ip4 udp=1>53 : within | "
			       "2 * ip4 udp=1>53 : over | "
			       "ip4 udp=1>54 : within"},
	{"networks of other lengths", "= any limit 1/h burst 1 per source/24,48 | ip4 udp : within "
				      "| 2 * ip4=192.0.2.7 udp : over | "
				      "ip4=192.0.3.7 udp : within"},
	{"what is only counted",
	 "= any limit 1/h burst 1 over count | ip4 udp : within | 3 * ip4 udp : shadow"},
	{"a limit that is only counted comes first",
	 "= any limit 1/h burst 1 over count; any limit 1/h burst 2 per dest | ip4 udp : within | "
	 "ip4 udp "
	 ": shadow | 3 * ip4 udp : over"},
	{"a limit that expires",
	 "= any limit 1/h burst 1; 192.0.2.1 limit 1/h burst 2 for 9m | 2 * ip4 udp : within | 2 * "
	 "ip4 "
	 "udp : over | @ 192.0.2.1 limit 1/h burst 2 +0 | ip4 udp : within | 2 * ip4 udp : over"},
	{"a verdict that expires gives way to one",
	 "= any limit 1/d burst 1; 192.0.2.1 allow for 1h | 2 * ip4 udp : allowed | @ 192.0.2.1 "
	 "allow "
	 "+0 | ip4 udp : within | 2 * ip4 udp : over"},
	{"another policy", "= any limit 1/h burst 1 | ip4 udp : within | 2 * ip4 udp : over | = "
			   "any limit 1/h burst 2 | "
			   "ip4 udp : within | 2 * ip4 udp : over | = any allow | ip4 udp : "
			   "allowed | = any limit 1/h "
			   "burst 2; 192.0.2.0/24 deny | ip4 udp : denied"},
	{"the host's prefix, of the network's",
	 "= 2001:db8::1 allow; any limit 1/h burst 1 | ip6=2001:db8::2 udp : within | 2 * "
	 "ip6=2001:db8::2 udp : over | 2 * ip6 udp : allowed"},
	{"one of the network's hosts for all",
	 "= 2001:db8::/64 limit 1/h burst 1 | ip6=2001:db8::2 udp : within | 2 * ip6=2001:db8::2 "
	 "udp : "
	 "over | 2 * ip6 udp : over | ip6=2001:db8:0:1::1 udp : unmatched"},
	{"the other family",
	 "= any limit 1/h burst 1 | ip4 udp : within | 2 * ip4 udp : over | ip6 "
	 "udp : within | 2 * ip6 udp : over"},
	{"packets of another class",
	 "= any udp limit 1/h burst 1 | ip4 udp : within | 3 * ip4 udp : over | 2 * ip4 tcp : "
	 "unmatched | 2 * ip4 udp : over | # any udp limit 1/h burst 1 : 1 5 0"},
	{"ports outside of the class",
	 "= any udp dport 50-60 limit 1/h burst 1 | ip4 udp=1>53 : within | 3 * ip4 udp=1>60 : over "
	 "| 2 * ip4 udp=1>49 : unmatched | 2 * ip4 udp=1>61 : unmatched | 2 * ip4 tcp=1>53 : "
	 "unmatched | 2 * ip4 udp=1>50 : over"},
	{"another limit beside that of the class",
	 "= any udp limit 1/h burst 1; any tcp limit 1/h burst 2 | ip4 udp : within | 3 * ip4 udp : "
	 "over | 2 * ip4 tcp : within | 3 * ip4 tcp : over | 2 * ip4 udp : over"},
	{"another prefix than that of the class",
	 "= any udp limit 1/h burst 1; 192.0.2.1 tcp limit 1/h burst 1 | ip4 tcp : within | 2 * ip4 "
	 "tcp : over | ip4 udp : within | 3 * ip4 udp : over | 2 * ip4 tcp : over"},
	{"what a prefix allows of the class",
	 "= any udp limit 1/h burst 1; 192.0.2.1 udp dport 53 allow | ip4 udp=1>54 : within | 2 * "
	 "ip4 udp=1>54 : over | 2 * ip4 udp=1>53 : allowed"},
	{"a class that ends",
	 "= any udp limit 1/h burst 1 | ip4 udp : within | 2 * ip4 udp : over | = any tcp limit 1/h "
	 "burst 1 | 2 * ip4 udp : unmatched | ip4 tcp : within | 2 * ip4 tcp : over | 2 * ip4 udp : "
	 "unmatched"},
	{"windows, logs, warm-up",
	 "= any limit fixed-window 2/h | 2 * ip4 udp : within | 3 * ip4 udp : over | = any limit "
	 "sliding-window 2/h | 2 * ip4 udp : within | 3 * ip4 udp : over | + 70m | 2 * ip4 udp : "
	 "within | 2 * ip4 udp : over | = any limit sliding-log 1/h | ip4 udp : within | 2 * ip4 "
	 "udp : "
	 "over | + 59m | 2 * ip4 udp : over | + 1m | ip4 udp : within | 2 * ip4 udp : over"},
};

SCENARIOS(rows)

/* ---- in the table */

static struct harness *h;
HARNESS_OF_EACH(harness_begin, harness_end, h, .seed = {5, 8})
static uint8_t addr[16];

static uint64_t address_hash(const uint8_t of[16])
{
	__u64 half[2];

	memcpy(half, of, sizeof(half));
	return hot_hash_address(h->instance.info.hot_seed, address_is_mapped(half), half);
}

static uint32_t set_of(const uint8_t of[16])
{
	return refusal_index(address_hash(of), refusal_sets(&h->instance.info) - 1);
}

static void set_read(uint64_t words[RL_REFUSAL_WAYS])
{
	uint32_t set = set_of(addr);

	assert_int_equal(bpf_map_lookup_elem(h->policy_maps[POLICY_MAP_refusals], &set, words), 0);
}

static void set_write(const uint64_t words[RL_REFUSAL_WAYS])
{
	uint32_t set = set_of(addr);

	assert_int_equal(
		bpf_map_update_elem(h->policy_maps[POLICY_MAP_refusals], &set, words, BPF_ANY), 0);
}

/* How many are cached for the address. */
static int cached(void)
{
	uint64_t words[RL_REFUSAL_WAYS], generation = instance_generation(&h->instance);
	uint64_t time = refusal_time(h->now_ns, set_of(addr));
	uint64_t owner = refusal_owner(address_hash(addr), generation, time);
	int found = 0;

	set_read(words);
	for (int i = 0; i < RL_REFUSAL_WAYS; i++)
		found += refusal_is_of(words[i], owner) && !refusal_is_idle(words[i], time);
	return found;
}

/* So that the address's set has a whole epoch before it. */
static void epoch_begin(void)
{
	uint64_t time = refusal_time(h->now_ns, set_of(addr));

	harness_clock(h, h->now_ns + (1ull << REFUSAL_EPOCH_SHIFT) -
				 (time & ((1ull << REFUSAL_EPOCH_SHIFT) - 1)));
}

static const struct stands_row {
	const char *rules;
	bool stands4, stands6;
} stands_rows[] = {
	{"any limit 1/h burst 1", true, true},
	{"any limit leaky-bucket 1/h queue 1", true, true},
	{"any limit fixed-window 1/h", true, true},
	{"any limit sliding-window 1/h", true, true},
	{"any limit sliding-log 1/h", true, true},
	{"any limit sliding-log 1/7ms", false, false}, /* over before two ticks are */
	{"any limit 1/h burst 1; device limit 9/h burst 9", true, true},
	{"any limit 1/h burst 1; any limit 9/h burst 1", true, true},
	{"any limit 1/h burst 1; device new-source limit 9/h burst 9", true, true},
	{"any limit 1/h burst 1; 10.0.0.0/8 limit 1/h burst 1; 2001:db8::/32 limit 1/h burst 1",
	 true, true},
	{"any limit 1/h burst 1; 2001:db8:9::1 deny", true, false},
	{"any limit 1/h burst 1; 10.0.0.1 udp dport 7 deny", false, true},
	{"any limit 1/h burst 1; any tcp limit 1/h", true, true},
	{"any udp limit 9/h burst 9; any limit 1/h burst 1", true, true},
	{"any udp limit 1/h over ban 1s; any limit 1/h burst 1", true, true},
	{"any tcp allow; any limit 1/h burst 1", false, false},
	{"any tcp deny; any limit 1/h burst 1", true, true},
	{"any limit 1/h burst 1 over count; any limit 1/h burst 2", true, true},
	{"any limit 1/h burst 1; device tcp deny", true, true},
	{"any limit 1/h burst 1; device tcp allow", true, true},
	{"0.0.0.0/0 tcp limit 9/h; 0.0.0.0/0 limit 1/h burst 1", true, false},
	{"0.0.0.0/0 tcp limit 9/h; any limit 1/h burst 1", false, true},
	{"any limit 1/h burst 1; 192.0.2.1 limit 1/h over ban 1s source", false, false},
	{"any limit 1/h burst 1 over ban 1s", false, false},
	{"any limit 1514byte/h burst 1514byte", false, false},
	{"any limit 1/h burst 1 per source/24,48", false, false},
	{"any limit 1/h burst 1 per dest", false, false},
	{"any limit 1/h burst 1 for 2h", false, false},
	{"any limit 1000/s burst 1", false, false}, /* by the precise clock */
	{"any udp limit 1/h burst 1", true, true},
	{"any udp dport 1-65535 limit 1/h burst 1", true, true},
	{"any udp limit 1/h burst 1; 192.0.2.0/24 udp limit 1/h burst 1", true, true},
	{"any udp limit 1/h burst 1; any sctp limit 1/h burst 1", true, true},
	{"any tcp limit 1/h burst 1; any udp limit 1/h burst 1", false, false}, /* of the first */
	{"any tcp limit 1/h burst 1; 0.0.0.0/0 udp limit 1/h burst 1", false, false},
	{"any udp limit 1/h burst 1; any tcp allow", false, false},
	{"any udp limit 1/h burst 1; 2001:db8:9::1 deny", true, false},
};

HARNESS(stands, .seed = {5, 8})

ROWS(stands_test, stands_rows, row)
{
	static struct frame frames[2];

	h = stands;
	harness_clock(h, h->now_ns + NS_PER_DAY); /* those before owe nothing any more */
	harness_policy(h, row->rules);
	for (int ip4 = 0; ip4 < 2; ip4++) {
		frame_build(&frames[ip4], ip4 ? "ip4 udp" : "ip6 udp");
		if (ip4)
			address_ip4(addr, 1);
		else
			address_ip6(addr, 0, 1);
		frame_source(&frames[ip4], addr);
		epoch_begin();
		for (int i = 0; i < 4; i++)
			harness_run(h, &frames[ip4]);
		if ((cached() == 1) != (ip4 ? row->stands4 : row->stands6))
			fail_msg("%s: IPv%d", row->rules, ip4 ? 4 : 6);
	}
}

/* The packets are answered by it, not by the bucket; for an epoch, then the bucket is asked again.
 */
NAMED_TEST("it answers for an epoch", answers_test, harness_begin, harness_end)
{
	struct rl_rule numbers;
	struct rl_hot_slot *slot;

	harness_policy(h, "any limit 1/h burst 1");
	numbers = harness_numbers(h, 0);
	address_ip4(addr, 1);
	epoch_begin();
	assert_int_equal(harness_within(h, addr, 3), 1);
	slot = harness_slot(h, &numbers, addr);
	assert_non_null(slot);
	slot->word = 0;
	assert_int_equal(harness_within(h, addr, 3), 0);
	harness_clock(h, h->now_ns + (1ull << REFUSAL_EPOCH_SHIFT));
	assert_int_equal(harness_within(h, addr, 3), 1);
	assert_int_equal(cached(), 1);
}

/* Forgiving removes the cached refusals, also if two CPUs have made one each. */
NAMED_TEST("it is forgiven", forgiven_test, harness_begin, harness_end)
{
	uint64_t words[RL_REFUSAL_WAYS];

	harness_policy(h, "any limit 1/h burst 1");
	address_ip4(addr, 1);
	epoch_begin();
	assert_int_equal(harness_within(h, addr, 3), 1);
	set_read(words);
	words[RL_REFUSAL_WAYS - 1] = words[0];
	set_write(words);
	assert_int_equal(cached(), 2);
	assert_int_equal(harness_forgive(h, addr), 1);
	assert_int_equal(cached(), 0);
	assert_int_equal(harness_within(h, addr, 3), 1);
}

/* An ended refusal is renewed in its place, though a place before it is free by now: of two the
 * first would not be found. */
NAMED_TEST("it is renewed in its place", renewed_test, harness_begin, harness_end)
{
	uint64_t words[RL_REFUSAL_WAYS];

	harness_policy(h, "any limit 10/s burst 2");
	address_ip4(addr, 1);
	epoch_begin();
	assert_int_equal(harness_within(h, addr, 4), 2);
	assert_int_equal(cached(), 1);
	set_read(words);
	words[RL_REFUSAL_WAYS - 1] = words[0];
	words[0] = 0;
	set_write(words);
	harness_clock(h, h->now_ns + NS_PER_SECOND / 10);
	assert_int_equal(cached(), 0);
	assert_int_equal(harness_within(h, addr, 4), 1);
	assert_int_equal(cached(), 1);
	set_read(words);
	assert_int_equal(words[0], 0);
}

/* Cached refusals of an old epoch are not valid in later ones, not even when the last bits of its
 * number recur. */
NAMED_TEST("it is nobody's in another epoch", epochs_test, harness_begin, harness_end)
{
	struct rl_hot_slot *slot;
	struct rl_rule numbers;
	uint64_t words[RL_REFUSAL_WAYS];

	harness_policy(h, "any limit 1/h burst 1");
	numbers = harness_numbers(h, 0);
	address_ip4(addr, 1);
	epoch_begin();
	assert_int_equal(harness_within(h, addr, 2), 1);
	assert_int_equal(cached(), 1);
	set_read(words);
	for (int i = 1; i <= 64; i++) {
		slot = harness_slot(h, &numbers, addr);
		assert_non_null(slot);
		slot->word = 0;
		harness_clock(h, h->now_ns + (1ull << REFUSAL_EPOCH_SHIFT));
		assert_int_equal(harness_within(h, addr, 1), 1);
		set_write(words);
	}
}

/* One more source in a set than it holds: the last is refused by its bucket, and no cached refusal
 * is evicted. */
NAMED_TEST("it takes no room from anybody", room_test, harness_begin, harness_end)
{
	uint8_t crowd[RL_REFUSAL_WAYS + 1][16];

	harness_policy(h, "any limit 1/h burst 1");
	address_ip4(addr, 1);
	epoch_begin();
	for (uint32_t i = 1, found = 0; found < RL_REFUSAL_WAYS + 1; i++) {
		address_ip4(crowd[found], i);
		found += set_of(crowd[found]) == set_of(addr);
	}
	for (int i = 0; i < RL_REFUSAL_WAYS + 1; i++)
		assert_int_equal(harness_within(h, crowd[i], 2), 1);
	for (int i = 0; i < RL_REFUSAL_WAYS + 1; i++) {
		memcpy(addr, crowd[i], sizeof(addr));
		assert_int_equal(cached(), i < RL_REFUSAL_WAYS);
		assert_int_equal(harness_within(h, addr, 3), 0);
	}
	harness_clock(h, h->now_ns + (1ull << REFUSAL_EPOCH_SHIFT));
	assert_int_equal(harness_within(h, addr, 3), 0);
	assert_int_equal(cached(), 1); /* there is room again */
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
}
