// SPDX-License-Identifier: GPL-2.0-only
/* The memory of members: no more than what is promised, for what is in the sets, and none when they
 * are gone; and one address that is in all sets.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "member_reader.h"
#include "random.h"
#include "turns.h"

#define PAGE_BYTES   4096 /* with what the kernel adds */
#define BUCKET_BYTES 16
#define BYTES4       100 /* of a member, at most */
#define BYTES6       140
#define MILLION      TURNS(1000000)

static struct memory_store store;
static struct rl_member_layout layout;
static struct rl_set sets[RL_SETS_MAX];
static struct member_table table;

static int begin(void **state)
{
	(void)state;
	memset(&layout, 0, sizeof(layout));
	memset(sets, 0, sizeof(sets));
	table = (struct member_table){.layout = &layout,
				      .sets = sets,
				      .seed = {0x2545f4914f6cdd1d, 0x9e3779b97f4a7c15},
				      .now = 1000};
	memory_store_make(&store, &table.store);
	for (int set = 0; set < RL_SETS_MAX; set++)
		sets[set].max = RL_SET_MEMBERS_MAX;
	return 0;
}

static int end(void **state)
{
	(void)state;
	memory_store_clear(&store);
	return 0;
}

/* Addresses, or networks of IPv6, in a row: the n-th one of many. */
static struct member member_at(bool ipv6, uint32_t n)
{
	struct member member = {.len = ipv6 && n % 2 ? 64 : 128};

	if (ipv6) {
		memcpy(member.addr, "\x20\x01\x0d\xb8", 4);
		member.addr[5] = n >> 16;
		member.addr[6] = n >> 8;
		member.addr[7] = n;
	} else {
		memcpy(member.addr + 10, "\xff\xff\x0a", 3);
		member.addr[13] = n >> 16;
		member.addr[14] = n >> 8;
		member.addr[15] = n;
	}
	return member;
}

static struct member_entry *entries_make(bool ipv6, uint32_t count)
{
	struct member_entry *entries = calloc(count, sizeof(*entries));

	assert_non_null(entries);
	for (uint32_t n = 0; n < count; n++)
		entries[n] = (struct member_entry){.member = member_at(ipv6, n), .expires = 2000};
	return entries;
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t power = 1;

	while (power < least)
		power *= 2;
	return power;
}

/* The map of a set whose `max` is what it holds; the layout takes 32 KiB besides. */
static void bytes_check(bool ipv6, uint32_t count)
{
	uint64_t capacity = 2ull * member_table_pages(count);
	uint64_t bytes = store.count * PAGE_BYTES + power_of_two(capacity) * BUCKET_BYTES;

	assert_true(store.most <= capacity);
	assert_true(bytes <= (uint64_t)count * (ipv6 ? BYTES6 : BYTES4));
}

struct row {
	const char *name;
	bool ipv6;
	uint32_t count;
};

static const struct row rows[] = {
	{"1,000 of IPv4", false, 1000},        {"65,536 of IPv4", false, 65536},
	{"a million of IPv4", false, MILLION}, {"1,000 of IPv6", true, 1000},
	{"65,536 of IPv6", true, 65536},       {"a million of IPv6", true, MILLION},
};

ROWS(bytes_test, rows, row)
{
	struct member_entry *entries = entries_make(row->ipv6, row->count);
	struct member_result result = {0};

	begin(NULL);
	assert_int_equal(member_table_add(&table, 5, entries, row->count, &result), 0);
	assert_int_equal(result.added, row->count);
	bytes_check(row->ipv6, row->count);
	assert_int_equal(member_table_add(&table, 5, entries, row->count, &result), 0);
	assert_int_equal(result.present, row->count);
	bytes_check(row->ipv6, row->count);
	assert_int_equal(member_table_swap(&table, 5, entries, row->count, &result), 0);
	assert_int_equal(result.present, row->count);
	bytes_check(row->ipv6, row->count);
	table.now = 2000;
	assert_int_equal(member_table_sweep(&table), 0);
	assert_int_equal(store.count, 0);
	assert_int_equal(sets[5].expired, row->count);
	assert_int_equal(layout.next_expiry, 0);
	end(NULL);
	free(entries);
}

/* One by one, and deleted one by one. */
TEST(single_test, begin, end)
{
	uint32_t count = 3000;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct member_result result = {0};

		for (uint32_t n = 0; n < count; n++) {
			struct member_entry entry = {.member = member_at(ipv6, n)};
			size_t writes = store.writes;

			assert_int_equal(member_table_add(&table, 1, &entry, 1, &result), 0);
			assert_true(store.writes - writes <= 4); /* a page, and two of a split */
		}
		assert_int_equal(result.added, count);
		bytes_check(ipv6, count);
		for (uint32_t n = 0; n < count; n++) {
			struct member member = member_at(ipv6, n);

			assert_int_equal(member_table_delete(&table, 1, &member, 1, &result), 0);
		}
		assert_int_equal(result.deleted, count);
		assert_int_equal(store.count, 0);
	}
}

/* They all have one hash; no page that is split brings them apart. */
TEST(everywhere_test, begin, end)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct member_entry entry = {.member = member_at(ipv6, 77)};
		struct member_result result = {0};
		struct reader reader;

		for (uint32_t set = 0; set < RL_SETS_MAX; set++)
			assert_int_equal(member_table_add(&table, set, &entry, 1, &result), 0);
		assert_int_equal(result.added, RL_SETS_MAX);
		assert_int_equal(member_table_swap(&table, 9, &entry, 1, &result), 0);
		reader_begin(&reader, &table, &store, entry.member.addr);
		while (reader_go(&reader))
			continue;
		assert_true(reader.sets == UINT64_MAX);
	}
}
