// SPDX-License-Identifier: GPL-2.0-only
/* The keys of an agent: an array, indexed by uthash. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fleet/fleet.h"

int fleet_table_open(int shards, struct fleet_table *out)
{
	*out = (struct fleet_table){.entries = calloc(KEYS_MAX, sizeof(*out->entries)),
				    .shards = shards};
	return out->entries ? 0 : -ENOMEM;
}

void fleet_table_close(struct fleet_table *table)
{
	HASH_CLEAR(hh, table->by_key);
	free(table->entries);
	memset(table, 0, sizeof(*table));
}

struct fleet_entry *fleet_table_find(struct fleet_table *table, const struct rl_state_key *key)
{
	struct fleet_entry *entry;

	HASH_FIND(hh, table->by_key, key, sizeof(*key), entry);
	return entry;
}

/* LIMIT:ADDRESS[>PEER][:SPORT:DPORT:PROTO[:VLAN]], with the fields that the key has. */
static void name_make(const struct rl_state_key *key, const char *limit, char *out, size_t size)
{
	static const uint8_t none[16];
	char addr[PREFIX_TEXT_MAX] = "*", peer[PREFIX_TEXT_MAX] = "", vlan[8] = "";

	if (memcmp(key->addr, none, sizeof(none)) != 0)
		prefix_print(addr, sizeof(addr), key->addr, 128);
	if (memcmp(key->peer, none, sizeof(none)) != 0) {
		peer[0] = '>';
		prefix_print(peer + 1, sizeof(peer) - 1, key->peer, 128);
	}
	if (key->vlan)
		snprintf(vlan, sizeof(vlan), ":%u", key->vlan);
	if (key->sport || key->dport || key->proto || key->vlan)
		snprintf(out, size, "%s:%.46s%.47s:%u:%u:%u%s", limit, addr, peer, key->sport,
			 key->dport, key->proto, vlan);
	else
		snprintf(out, size, "%s:%.46s%.47s", limit, addr, peer);
}

static bool index_add(struct fleet_table *table, struct fleet_entry *entry)
{
	HASH_ADD(hh, table->by_key, key, sizeof(entry->key), entry);
	return entry->hh.tbl;
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
	entry->shard = (int)(fleet_hash(entry->name, FLEET_HASH) % table->shards);
	fleet_entry_reset(entry);
	if (!index_add(table, entry))
		return NULL;
	table->count++;
	return entry;
}

/* Moves the last entry into the gap; without memory to index it, drops it too, and its lease
 * expires. */
void fleet_table_remove(struct fleet_table *table, struct fleet_entry *entry)
{
	struct fleet_entry *last;

	hash_remove(table->by_key, entry);
	do {
		last = &table->entries[--table->count];
		if (last == entry)
			return;
		hash_remove(table->by_key, last);
		*entry = *last;
	} while (!index_add(table, entry));
}
