// SPDX-License-Identifier: GPL-2.0-only
/* The keys of an agent, in a table of uthash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "fleet/fleet.h"

void fleet_keys_clear(struct fleet_entry **keys)
{
	while (*keys)
		fleet_key_remove(keys, *keys);
}

struct fleet_entry *fleet_key_find(struct fleet_entry *keys, const struct rl_state_key *key)
{
	struct fleet_entry *entry;

	HASH_FIND(hh, keys, key, sizeof(*key), entry);
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

struct fleet_entry *fleet_key_add(struct fleet_entry **keys, const struct rl_state_key *key,
				  const struct fleet_limit *limit, int shards)
{
	struct fleet_entry *entry = HASH_COUNT(*keys) < KEYS_MAX ? calloc(1, sizeof(*entry)) : NULL;

	if (!entry)
		return NULL;
	entry->key = *key;
	entry->limit = limit;
	name_make(key, limit->identity, entry->name, sizeof(entry->name));
	entry->shard = (int)(text_hash(entry->name, FLEET_HASH) % shards);
	fleet_entry_reset(entry);
	HASH_ADD(hh, *keys, key, sizeof(entry->key), entry);
	if (entry->hh.tbl)
		return entry;
	free(entry);
	return NULL;
}

void fleet_key_remove(struct fleet_entry **keys, struct fleet_entry *entry)
{
	hash_remove(*keys, entry);
	free(entry);
}
