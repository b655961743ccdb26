// SPDX-License-Identifier: GPL-2.0-only
/* The keys of a fleet's agent against an array of what should be in the table. */
#include <stdint.h>
#include <string.h>

#include "cases.h"
#include "fleet/fleet.h"
#include "random.h"

#define KEYS (KEYS_MAX + 1000u)

static struct fleet_limit limit = {.identity = "limit"};

static struct rl_state_key key_of(uint32_t number)
{
	struct rl_state_key key = {.limit_id = 1 + number % 2, .dport = number % 3};

	memcpy(key.addr + 12, &number, sizeof(number));
	return key;
}

/* Every key that should be there is, with its own entry; no other is. */
static void assert_holds(struct fleet_entry *keys, const bool wanted[KEYS])
{
	size_t count = 0;

	for (uint32_t i = 0; i < KEYS; i++) {
		struct rl_state_key key = key_of(i);
		const struct fleet_entry *entry = fleet_key_find(keys, &key);

		assert_true(!entry == !wanted[i]);
		if (!entry)
			continue;
		count++;
		assert_memory_equal(&entry->key, &key, sizeof(key));
		assert_int_equal(entry->used, i);
	}
	assert_int_equal(HASH_COUNT(keys), count);
}

TEST(keys_come_and_go)
{
	static bool wanted[KEYS];
	struct fleet_entry *keys = NULL;
	uint64_t seed = 1;

	for (int n = 0; n < 200000; n++) {
		uint32_t i = (uint32_t)(random_next(&seed) % (n < 100000 ? KEYS : 50));
		struct rl_state_key key = key_of(i);
		struct fleet_entry *entry = fleet_key_find(keys, &key);

		assert_true(!entry == !wanted[i]);
		if (entry) {
			fleet_key_remove(&keys, entry);
			wanted[i] = false;
		} else {
			entry = fleet_key_add(&keys, &key, &limit, 1);
			if (entry)
				entry->used = i;
			wanted[i] = entry != NULL;
		}
		if (n % 50000 == 0)
			assert_holds(keys, wanted);
	}
	assert_holds(keys, wanted);
	fleet_keys_clear(&keys);
}

TEST(it_becomes_full_and_empty)
{
	static bool wanted[KEYS];
	struct fleet_entry *keys = NULL;

	for (uint32_t i = 0; i < KEYS; i++) {
		struct rl_state_key key = key_of(i);
		struct fleet_entry *entry = fleet_key_add(&keys, &key, &limit, 1);

		assert_true(!entry == (i >= KEYS_MAX));
		wanted[i] = entry;
		if (entry)
			entry->used = i;
	}
	assert_holds(keys, wanted);
	while (keys)
		fleet_key_remove(&keys, keys);
	memset(wanted, 0, sizeof(wanted));
	assert_holds(keys, wanted);
	fleet_keys_clear(&keys);
}

TEST(names)
{
	struct rl_state_key key = {.limit_id = 1, .sport = 1, .dport = 2, .proto = 6};
	struct fleet_entry *keys = NULL;

	assert_string_equal(fleet_key_add(&keys, &key, &limit, 1)->name, "limit:*:1:2:6");
	memcpy(key.addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	memcpy(key.peer, "\xfd\x78", 2);
	assert_string_equal(fleet_key_add(&keys, &key, &limit, 1)->name,
			    "limit:10.0.0.1>fd78:::1:2:6");
	key.sport = key.dport = key.proto = 0;
	assert_string_equal(fleet_key_add(&keys, &key, &limit, 1)->name, "limit:10.0.0.1>fd78::");
	/* dest+dport: nothing else, but the limit's identity says which address it is */
	memset(key.peer, 0, sizeof(key.peer));
	key.dport = 53;
	assert_string_equal(fleet_key_add(&keys, &key, &limit, 1)->name, "limit:10.0.0.1:0:53:0");
	fleet_keys_clear(&keys);
}
