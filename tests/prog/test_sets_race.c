// SPDX-License-Identifier: GPL-2.0-only
/* Packets of members that stay, while another CPU changes the table as fast as it can: adds and
 * deletes by thousands, so that pages split and merge, and swaps that put longer members in the
 * place of shorter ones. None of them is missed, and nobody is taken for a member.
 *
 * check: alone
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "harness.h"
#include "kernel/sets/sets.h"

#define STAY    400   /* members of each family */
#define COME    15000 /* that come and go at once */
#define SECONDS 6     /* of each test, at most */
#define ROUNDS  60    /* of changes, at most */
#define SWAPPED 64    /* networks of a set that is swapped */

struct race {
	struct harness *h;
	atomic_bool over;
	uint32_t rounds;
	uint64_t seed, writer_seed;
};

static bool in_time(time_t begin)
{
	return time(NULL) - begin < SECONDS;
}

/* 10.N: they stay; 10.128 and on: they come and go. IPv6: 2001:db8:N::1 and N from 2^31 on. */
static void member_make(bool ip6, uint32_t number, bool stays, struct member_entry *out)
{
	*out = (struct member_entry){.member.len = 128};
	if (ip6)
		address_ip6(out->member.addr, number | (stays ? 0 : 1u << 31), 1);
	else
		address_ip4(out->member.addr, number << 4 | (stays ? 0 : 1u << 23));
}

static uint32_t session_begin(struct harness *h, const char *set, struct set_session *session)
{
	int number;

	assert_int_equal(set_session_open(&h->instance, true, session), 0);
	number = set_session_find(session, set);
	assert_true(number >= 0);
	return number;
}

/* Errors of the writer end the test when it is joined. */
static void session_check(int ret)
{
	if (ret) {
		fprintf(stderr, "a change of members failed: %s\n", strerror(-ret));
		abort();
	}
}

static void stay_add(struct harness *h)
{
	static struct member_entry entries[2 * STAY];
	struct member_result result = {0};
	struct set_session session;
	uint32_t set = session_begin(h, "stay", &session);

	for (uint32_t i = 0; i < STAY; i++) {
		member_make(false, i, true, &entries[2 * i]);
		member_make(true, i, true, &entries[2 * i + 1]);
	}
	session_check(member_table_add(&session.table, set, entries, 2 * STAY, &result));
	assert_int_equal(result.added, 2 * STAY);
	session_check(set_session_close(&session));
}

/* ---- members that come and go */

static void come_and_go(struct race *race, struct set_session *session, uint32_t set,
			struct member_entry *entries, struct member *gone)
{
	struct member_result result = {0};
	uint32_t count = 1 + random_under(&race->writer_seed, COME);

	for (uint32_t i = 0; i < count; i++) {
		member_make(i % 2, random_under(&race->writer_seed, 1u << 19), false, &entries[i]);
		gone[i] = entries[i].member;
	}
	session_check(member_table_add(&session->table, set, entries, count, &result));
	if (random_under(&race->writer_seed, 4))
		session_check(member_table_delete(&session->table, set, gone, count, &result));
	else
		session_check(member_table_flush(&session->table, set));
	/* One by one: the same pages again and again. */
	for (uint32_t i = 0; i < 200 && !race->over; i++) {
		session_check(
			member_table_add(&session->table, set, &entries[i % count], 1, &result));
		session_check(
			member_table_delete(&session->table, set, &gone[i % count], 1, &result));
	}
}

static void *writer_run(void *arg)
{
	static struct member_entry entries[COME];
	static struct member gone[COME];
	struct race *race = arg;
	struct set_session session;
	uint32_t set;

	cpu_stay(1);
	set = session_begin(race->h, "come", &session);
	for (; !race->over && race->rounds < ROUNDS; race->rounds++)
		come_and_go(race, &session, set, entries, gone);
	session_check(set_session_close(&session));
	race->over = true;
	return NULL;
}

/* ---- a set whose members are now networks, now what is in them */

static void swap_make(bool longer, struct member_entry entries[4 * SWAPPED])
{
	for (uint32_t i = 0; i < 4 * SWAPPED; i++) {
		bool ip6 = i & 1;

		member_make(ip6, i / 4 * 64, true, &entries[i]);
		entries[i].member.len = ip6 ? (longer ? 64 + i / 4 : 50) : (longer ? 126 : 119);
		prefix_mask(entries[i].member.addr, entries[i].member.addr, entries[i].member.len);
	}
}

static void *swapper_run(void *arg)
{
	static struct member_entry entries[4 * SWAPPED];
	struct race *race = arg;
	struct set_session session;
	uint32_t set;

	cpu_stay(1);
	set = session_begin(race->h, "stay", &session);
	for (; !race->over && race->rounds < 300 * ROUNDS; race->rounds++) {
		struct member_result result = {0};

		swap_make(race->rounds % 2, entries);
		session_check(member_table_swap(&session.table, set, entries, ARRAY_SIZE(entries),
						&result));
	}
	session_check(set_session_close(&session));
	race->over = true;
	return NULL;
}

/* ---- packets */

static uint64_t packets_run(struct race *race, uint32_t members, uint32_t step)
{
	static struct frame frames[2];
	time_t begin = time(NULL);
	uint64_t packets = 0;

	frame_build(&frames[0], "ip4 udp");
	frame_build(&frames[1], "ip6 udp");
	for (; !race->over && in_time(begin); packets++) {
		uint32_t number = random_under(&race->seed, members) * step;
		bool ip6 = packets & 1, stays = packets % 16 > 1;
		struct member_entry entry;

		member_make(ip6, stays ? number : number + 100000, true, &entry);
		frame_source(&frames[ip6], entry.member.addr);
		if (harness_passes(race->h, &frames[ip6]) != stays)
			continue;
		race->over = true;
		fail_msg("packet %llu of IPv%u, number %u: %s", (unsigned long long)packets,
			 ip6 ? 6 : 4, number, stays ? "missed" : "no member, and denied");
	}
	race->over = true;
	return packets;
}

static void race_begin(struct race *race)
{
	static const struct harness_options options = {.program_uses = RL_USE_SET_RULES,
						       .seed = {3, 4}};

	*race = (struct race){.h = harness_open(&options), .seed = 7, .writer_seed = 8};
	assert_non_null(race->h);
	cpu_stay(0);
	harness_policy(race->h, "set stay; set come; @stay deny; @come tcp deny");
}

static void race_end(struct race *race, uint64_t packets)
{
	print_message("# %u rounds of changes beside %llu packets\n", race->rounds,
		      (unsigned long long)packets);
	assert_true(race->rounds > 1);
	assert_true(packets > 1000);
	harness_close(race->h);
}

TEST(changes_test)
{
	static struct race race; /* of a thread, too, that goes on where the test fails */
	uint64_t packets;
	pthread_t thread;

	if (cpus_usable() < 2) {
		skip();
		return;
	}
	race_begin(&race);
	stay_add(race.h);
	assert_int_equal(pthread_create(&thread, NULL, writer_run, &race), 0);
	packets = packets_run(&race, STAY, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	race_end(&race, packets);
}

TEST(swaps_test)
{
	static struct member_entry entries[4 * SWAPPED];
	struct member_result result = {0};
	struct set_session session;
	static struct race race; /* of a thread, too, that goes on where the test fails */
	uint64_t packets;
	pthread_t thread;
	uint32_t set;

	if (cpus_usable() < 2) {
		skip();
		return;
	}
	race_begin(&race);
	set = session_begin(race.h, "stay", &session);
	swap_make(true, entries);
	session_check(
		member_table_swap(&session.table, set, entries, ARRAY_SIZE(entries), &result));
	session_check(set_session_close(&session));
	assert_int_equal(pthread_create(&thread, NULL, swapper_run, &race), 0);
	packets = packets_run(&race, SWAPPED, 64);
	assert_int_equal(pthread_join(thread, NULL), 0);
	race_end(&race, packets);
}
