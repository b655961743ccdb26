// SPDX-License-Identifier: GPL-2.0-only
/* The keys that an agent deals with: an array, and chains of its indices by hash. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "units.h"

#define BUCKETS (4u * KEYS_MAX) /* open addressing, at most a quarter full */

static uint32_t bucket_of(const struct rl_state_key *key)
{
	const uint64_t *words = (const uint64_t *)key;
	uint64_t hash = 0x9e3779b97f4a7c15ull;

	_Static_assert(sizeof(*key) % sizeof(*words) == 0, "whole words");
	for (size_t i = 0; i < sizeof(*key) / sizeof(*words); i++) {
		hash = (hash ^ words[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return hash % BUCKETS;
}

int fleet_table_open(struct fleet_table *out)
{
	*out = (struct fleet_table){
		.entries = calloc(KEYS_MAX, sizeof(*out->entries)),
		.buckets = calloc(BUCKETS, sizeof(*out->buckets)),
	};
	if (out->entries && out->buckets)
		return 0;
	fleet_table_close(out);
	return -ENOMEM;
}

void fleet_table_close(struct fleet_table *table)
{
	free(table->entries);
	free(table->buckets);
	memset(table, 0, sizeof(*table));
}

/* The bucket that leads to the key, or the empty one where it would be. */
static uint32_t bucket_find(const struct fleet_table *table, const struct rl_state_key *key)
{
	uint32_t at = bucket_of(key);

	while (table->buckets[at] &&
	       memcmp(&table->entries[table->buckets[at] - 1].key, key, sizeof(*key)) != 0)
		at = (at + 1) % BUCKETS;
	return at;
}

struct fleet_entry *fleet_table_find(struct fleet_table *table, const struct rl_state_key *key)
{
	uint32_t index = table->buckets[bucket_find(table, key)];

	return index ? &table->entries[index - 1] : NULL;
}

/* LIMIT:ADDRESS[>PEER][:SPORT:DPORT:PROTO], what the key has of it. */
static void name_make(const struct rl_state_key *key, const char *limit, char *out, size_t size)
{
	static const uint8_t none[16];
	char addr[PREFIX_TEXT_MAX] = "*", peer[PREFIX_TEXT_MAX] = "";

	if (memcmp(key->addr, none, sizeof(none)) != 0)
		prefix_print(addr, sizeof(addr), key->addr, 128);
	if (memcmp(key->peer, none, sizeof(none)) != 0) {
		peer[0] = '>';
		prefix_print(peer + 1, sizeof(peer) - 1, key->peer, 128);
	}
	if (key->sport || key->dport || key->proto)
		snprintf(out, size, "%s:%.46s%.47s:%u:%u:%u", limit, addr, peer, key->sport,
			 key->dport, key->proto);
	else
		snprintf(out, size, "%s:%.46s%.47s", limit, addr, peer);
}

struct fleet_entry *fleet_table_add(struct fleet_table *table, const struct rl_state_key *key,
				    const struct fleet_limit *limit)
{
	struct fleet_entry *entry = &table->entries[table->count];

	if (table->count == KEYS_MAX)
		return NULL;
	memset(entry, 0, sizeof(*entry));
	entry->key = *key;
	entry->limit = limit;
	name_make(key, limit->identity, entry->name, sizeof(entry->name));
	fleet_entry_reset(entry);
	table->buckets[bucket_find(table, key)] = ++table->count;
	return entry;
}

/* Closes the gap in the chains behind an empty bucket (Knuth, TAOCP 6.4, algorithm R). */
static void chain_mend(struct fleet_table *table, uint32_t hole)
{
	for (uint32_t at = (hole + 1) % BUCKETS; table->buckets[at]; at = (at + 1) % BUCKETS) {
		uint32_t home = bucket_of(&table->entries[table->buckets[at] - 1].key);

		if ((at - home + BUCKETS) % BUCKETS < (at - hole + BUCKETS) % BUCKETS)
			continue;
		table->buckets[hole] = table->buckets[at];
		table->buckets[at] = 0;
		hole = at;
	}
}

void fleet_table_remove(struct fleet_table *table, struct fleet_entry *entry)
{
	struct fleet_entry *last = &table->entries[table->count - 1];
	uint32_t hole = bucket_find(table, &entry->key);

	table->buckets[hole] = 0;
	chain_mend(table, hole);
	if (entry != last) {
		table->buckets[bucket_find(table, &last->key)] = entry - table->entries + 1;
		*entry = *last;
	}
	table->count--;
}
