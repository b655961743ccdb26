// SPDX-License-Identifier: GPL-2.0-only
/* Two CPUs and one set of the hot table: while the one makes a refusal that stands, the other takes
 * from a bucket that has just become idle, whose slot it is to be. Neither's word is taken for the
 * other's, and nobody who owes loses a slot.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/standing_word.h"
#include "rig.h"
#include "units.h"

#define ROUNDS 30000
#define SPIN   1200 /* turns of a loop by which one is later than the other, at most */
#define SECOND (NS_PER_SECOND << RL_GRAIN_SHIFT)

/* A's limit is the faster: refused for a second at most. B's, charged to it, would be six. */
#define POLICY "10.0.0.0/8 limit 10/m burst 10; 192.0.0.0/8 limit 1/s burst 1"

static struct rig *rig;
static struct frame frame_a, frame_b;
static atomic_uint round_of_b;
static atomic_bool ended, b_is_done;

static void cpu_stay(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail_msg("the thread cannot have a CPU to itself");
}

static void *run_b(void *arg)
{
	(void)arg;
	cpu_stay(1);
	for (unsigned int done = 0; !ended;) {
		if (round_of_b == done)
			continue;
		done = round_of_b;
		rig_passes(rig, &frame_b);
		b_is_done = true;
	}
	return NULL;
}

/* Sources whose refusals go to that set. */
static void address_of_set(uint32_t set, uint32_t *from, uint8_t out[16], struct hot_key *key)
{
	const struct rl_instance *info = &rig->instance.info;
	uint64_t generation = instance_generation(&rig->instance), half[2];

	do {
		uint8_t addr[16] = {[10] = 0xff, 0xff, 192, *from >> 16, *from >> 8, *from};

		++*from;
		memcpy(half, addr, sizeof(half));
		*key = hot_standing_key(hot_hash_word(info->hot_seed, true, half[1]), generation,
					info->hot_sets - 1);
		memcpy(out, addr, sizeof(addr));
	} while (key->set != set);
}

/* Two ways owe for long, one is B's and idle, one is free. */
static void set_prepare(struct rl_hot_set *set, const struct hot_key *b)
{
	uint64_t now = rig->now_ns << RL_GRAIN_SHIFT;

	set->slot[0] = (struct rl_hot_slot){0};
	set->slot[1] = (struct rl_hot_slot){b->fingerprint, now - 5};
	for (int way = 2; way < RL_HOT_WAYS; way++)
		set->slot[way] = (struct rl_hot_slot){(uint64_t)way << 40, now + (SECOND << 20)};
}

/* 1: A's refusal stands. */
static int set_judge(const struct rl_hot_set *set, const struct hot_key *a)
{
	uint64_t now = rig->now_ns << RL_GRAIN_SHIFT;
	int stands = 0;

	for (int way = 0; way < RL_HOT_WAYS; way++) {
		uint64_t word = set->slot[way].word;

		if ((set->slot[way].fingerprint & ~HOT_FLAGS) != a->fingerprint ||
		    (int64_t)(word - now) <= 0)
			continue;
		stands = 1;
		assert_true(word - now <= SECOND);
		assert_true(standing_slot(word) <= 1); /* the policy's rules */
	}
	for (int way = 2; way < RL_HOT_WAYS; way++)
		assert_true(set->slot[way].fingerprint >> 40 == (uint64_t)way);
	return stands;
}

static void race_test(void **state)
{
	struct rig_options options = {.seed = {5, 8}, .sources = 64};
	uint32_t from = 0, stood = 0;
	struct rl_rule numbers;
	struct hot_key a, b;
	uint8_t addr[16];
	pthread_t thread;

	(void)state;
	rig = rig_open(&options);
	assert_non_null(rig);
	rig_policy(rig, POLICY);
	numbers = rig_numbers(rig, 0);
	frame_build(&frame_a, "ip4 udp");
	frame_build(&frame_b, "ip4 udp");
	address_ip4(addr, 1);
	frame_source(&frame_b, addr);
	b = rig_key(rig, &numbers, addr);
	cpu_stay(0);
	assert_int_equal(pthread_create(&thread, NULL, run_b, NULL), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		struct rl_hot_set *set = &rig->table.sets[b.set];

		address_of_set(b.set, &from, addr, &a);
		rig_clock(rig, rig->now_ns + 180 * NS_PER_SECOND);
		set_prepare(set, &b);
		frame_source(&frame_a, addr);
		rig_passes(rig, &frame_a);
		b_is_done = false;
		round_of_b = i;
		for (volatile uint32_t spin = i % SPIN; spin; spin--)
			;
		rig_passes(rig, &frame_a);
		while (!b_is_done)
			;
		stood += set_judge(set, &a);
	}
	ended = true;
	pthread_join(thread, NULL);
	print_message("# %u of %u refusals stood\n", stood, ROUNDS);
	assert_true(stood > ROUNDS / 2);
	assert_int_equal(rig_pressure(rig, RL_PRESSURE_EVICTIONS), 0);
	rig_close(rig);
}

int main(void)
{
	cpu_set_t usable;
	const struct CMUnitTest tests[] = {
		{"a refusal is made where another takes", race_test, NULL, NULL, NULL},
	};

	if (sched_getaffinity(0, sizeof(usable), &usable) || CPU_COUNT(&usable) < 2) {
		printf("1..1\nok 1 # SKIP needs two CPUs\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
