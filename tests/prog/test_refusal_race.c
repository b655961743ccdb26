// SPDX-License-Identifier: GPL-2.0-only
/* Two CPUs and one set of cached refusals: while one refuses a source of its own rule, the other
 * refuses another source by another rule. Each word is one CPU's as a whole: key, end and rule.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <bpf/bpf.h>

#include "algorithm/refusal_word.h"
#include "base/units.h"
#include "harness.h"

#define ROUNDS 30000
#define SPIN   1200 /* turns of a loop by which one is later than the other, at most */

/* A's is refused for six seconds, B's for a tenth of one. */
#define POLICY "10.0.0.0/8 limit 10/s burst 2; 192.0.0.0/8 limit 10/m burst 1"
enum { SLOT_B, SLOT_A }; /* in the policy's order */

static struct harness *h;
static struct frame frame_a, frame_b;
static atomic_uint round_of_b;
static atomic_bool ended, b_is_done;

static void *run_b(void *arg)
{
	(void)arg;
	cpu_stay(1);
	for (unsigned int done = 0; !ended;) {
		if (round_of_b == done)
			continue;
		done = round_of_b;
		harness_passes(h, &frame_b);
		b_is_done = true;
	}
	return NULL;
}

struct source {
	uint8_t addr[16];
	uint64_t hash;
};

/* The next source of NET/8 whose refusals are cached in that set. */
static struct source source_of_set(uint8_t net, uint32_t set, uint32_t *from)
{
	const struct rl_instance *info = &h->instance.info;
	struct source out;
	uint64_t half[2];

	do {
		uint8_t addr[16] = {[10] = 0xff, 0xff, net, *from >> 16, *from >> 8, *from};

		++*from;
		memcpy(half, addr, sizeof(half));
		memcpy(out.addr, addr, sizeof(addr));
		out.hash = hot_hash_word(info->hot_seed, true, half[1]);
	} while (refusal_index(out.hash, refusal_sets(info) - 1) != set);
	return out;
}

/* How many words are the source's, of those that hold; each is of its rule, and true. */
static uint32_t words_of(const uint64_t words[RL_REFUSAL_WAYS], const struct source *source,
			 uint32_t slot, uint64_t most_ns)
{
	uint32_t set = refusal_index(source->hash, refusal_sets(&h->instance.info) - 1);
	uint64_t time = refusal_time(h->now_ns, set);
	uint64_t owner = refusal_owner(source->hash, instance_generation(&h->instance), time);
	uint32_t found = 0;

	for (int i = 0; i < RL_REFUSAL_WAYS; i++) {
		if (!refusal_is_of(words[i], owner) || refusal_is_idle(words[i], time))
			continue;
		found++;
		assert_int_equal(refusal_counter_id(words[i]), slot);
		assert_true(refusal_end_unit(words[i]) - refusal_unit(time) <= most_ns >>
			    REFUSAL_UNIT_SHIFT);
	}
	return found;
}

NAMED_TEST("two refusals are made at once", race_test)
{
	struct harness_options options = {.seed = {5, 8}, .sources = 64};
	uint32_t from_a = 1, from_b = 1, stood = 0;
	uint64_t words[RL_REFUSAL_WAYS];
	pthread_t thread;

	if (cpus_usable() < 2)
		skip();
	h = harness_must_open(&options);
	harness_policy(h, POLICY);
	frame_build(&frame_a, "ip4 udp");
	frame_build(&frame_b, "ip4 udp");
	cpu_stay(0);
	assert_int_equal(pthread_create(&thread, NULL, run_b, NULL), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint32_t set = i % refusal_sets(&h->instance.info), own, others;
		struct source a = source_of_set(192, set, &from_a);
		struct source b = source_of_set(10, set, &from_b);

		memset(words, 0, sizeof(words));
		bpf_map_update_elem(h->policy_maps[POLICY_MAP_refusals], &set, words, BPF_ANY);
		/* none of those before owes, and the epoch has time left */
		harness_clock(h,
			      (((h->now_ns >> REFUSAL_EPOCH_SHIFT) + 13) << REFUSAL_EPOCH_SHIFT) -
				      refusal_time(0, set));
		frame_source(&frame_a, a.addr);
		frame_source(&frame_b, b.addr);
		harness_passes(h, &frame_a);
		harness_passes(h, &frame_b);
		harness_passes(h, &frame_b);
		b_is_done = false;
		round_of_b = i;
		for (volatile uint32_t spin = i % SPIN; spin; spin--)
			;
		assert_int_equal(harness_passes(h, &frame_a), 0);
		while (!b_is_done)
			;
		assert_int_equal(
			bpf_map_lookup_elem(h->policy_maps[POLICY_MAP_refusals], &set, words), 0);
		own = words_of(words, &a, SLOT_A, 6 * NS_PER_SECOND);
		others = words_of(words, &b, SLOT_B, 100000000);
		assert_true(own <= 1 && others <= 1 && own + others >= 1);
		stood += own + others;
	}
	ended = true;
	pthread_join(thread, NULL);
	print_message("# %u of %u refusals stood\n", stood, 2 * ROUNDS);
	assert_true(stood > ROUNDS);
	harness_close(h);
}
