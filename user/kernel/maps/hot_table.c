// SPDX-License-Identifier: GPL-2.0-only
/* Accesses the hot table from user space. It holds fingerprints, so the entry of an address is
 * found by computing its position. */

#include "kernel/maps/hot_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "algorithm/hot_key.h"
#include "algorithm/key_parts.h"
#include "algorithm/refusal_word.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"
#include "policy/names.h"

#define FETCH      1024 /* sets per batch */
#define PORTS      65536
#define PROTOCOLS  256
#define VLANS      4096
#define PORT_PARTS (RL_PART_SPORT | RL_PART_DPORT)

/* A read-only descriptor cannot be mapped: sets are then fetched by system calls. */
int hot_open(const struct instance *instance, struct hot_table *out)
{
	int ret;

	*out = (struct hot_table){
		.instance = instance,
		.size = instance->info.hot_sets * sizeof(struct rl_hot_set),
		.fd = policy_map_open(instance, POLICY_MAP_hot),
		.spilled = -1,
	};
	if (out->fd < 0)
		return out->fd == -ENOENT ? 0 : out->fd;
	out->spilled = policy_map_open(instance, POLICY_MAP_spilled);
	out->sets =
		map_whole(out->fd, out->size, PROT_READ | (instance->read_only ? 0 : PROT_WRITE));
	if (out->sets || instance->read_only)
		return 0;
	ret = -errno;
	hot_close(out);
	return ret;
}

void hot_close(struct hot_table *table)
{
	if (table->sets)
		munmap(table->sets, table->size);
	scope_fd(&table->fd);
	scope_fd(&table->spilled);
	table->sets = NULL;
	table->fd = table->spilled = -1;
}

/* As bpf/limit/hot.h computes it for a packet. */
static struct hot_key key_of(const struct hot_table *table, const struct rl_rule *numbers,
			     const struct rl_state_key *key)
{
	const struct rl_instance *info = &table->instance->info;

	return hot_key_of_state(info->hot_seed, info->hot_sets - 1, numbers, key);
}

static struct rl_hot_slot *slot_find(struct rl_hot_set *set, const struct hot_key *key)
{
	for (int i = 0; i < RL_HOT_WAYS; i++)
		if ((set->slot[i].fingerprint & ~HOT_FLAGS) == key->fingerprint)
			return &set->slot[i];
	return NULL;
}

int hot_lookup(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key, hot_found_fn *found, void *arg)
{
	struct hot_key hot = key_of(table, numbers, key);
	struct rl_hot_slot *slot, copy = {0};
	struct rl_hot_set fetched, *set = table->sets ? &table->sets[hot.set] : &fetched;
	int ret = 0;

	if (table->fd < 0)
		return 0;
	if (!table->sets)
		ret = bpf_map_lookup_elem(table->fd, &hot.set, &fetched);
	if (ret)
		return ret;
	slot = slot_find(set, &hot);
	if (slot)
		copy = *slot;
	else if (set->slot[0].fingerprint & HOT_HINT &&
		 !bpf_map_lookup_elem(table->spilled, &hot.fingerprint, &copy.word))
		copy.fingerprint = hot.fingerprint | HOT_AGAIN;
	return copy.word ? found(arg, key, &copy) : 0;
}

bool hot_can_visit(const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit), addresses = parts & KEY_ADDRESSES;

	if (parts_are_member(limit))
		return true;
	return addresses && addresses != KEY_ADDRESSES &&
	       __builtin_popcount(parts & (PORT_PARTS | RL_PART_VLAN)) < 2;
}

/* How many ports, or VLANs, the keys of a protocol may have. */
static uint32_t ports_of(const struct rl_limit *limit, uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);
	uint8_t parts = key_parts(limit);

	if (parts & RL_PART_VLAN)
		return VLANS;
	if (!(parts & PORT_PARTS) || (parts & RL_PART_PROTO && !(known && known->has_ports)))
		return 1;
	return PORTS;
}

int hot_visit(const struct hot_table *table, const struct rl_rule *numbers,
	      const struct rl_state_key *any, hot_found_fn *found, void *arg)
{
	uint8_t parts = key_parts(&numbers->limit);
	uint32_t protocols = parts & RL_PART_PROTO ? PROTOCOLS : 1;
	struct rl_state_key key = *any;
	int ret = 0;

	if (parts_are_member(&numbers->limit))
		return hot_lookup(table, numbers, any, found, arg);
	for (uint32_t proto = 0; !ret && proto < protocols; proto++) {
		uint32_t ports = ports_of(&numbers->limit, proto);

		key.proto = proto;
		for (uint32_t port = 0; !ret && port < ports; port++) {
			key.sport = parts & RL_PART_SPORT ? port : 0;
			key.dport = parts & RL_PART_DPORT ? port : 0;
			key.vlan = parts & RL_PART_VLAN ? port : 0;
			ret = hot_lookup(table, numbers, &key, found, arg);
		}
	}
	return ret;
}

/* Reads the word before the fingerprint, as packets do. */
static void slot_clear(struct rl_hot_slot *slot, uint64_t fingerprint)
{
	__u64 word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST);

	while ((__atomic_load_n(&slot->fingerprint, __ATOMIC_SEQ_CST) & ~HOT_FLAGS) == fingerprint)
		if (__atomic_compare_exchange_n(&slot->word, &word, 0, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
}

/* Clears the cached refusals of the address's set (bpf/limit/refusal.h); packets cache those that
 * still apply again. Call after clearing the state that they derive from. */
static int refusals_forget(const struct hot_table *table, const struct rl_rule *numbers,
			   const struct rl_state_key *key)
{
	const struct rl_instance *info = &table->instance->info;
	static const struct rl_refusal_set none;
	__u64 addr[2];
	uint32_t set;

	if (!(numbers->flags & RL_RULE_LOOKUP_ADDRESS))
		return 0;
	memcpy(addr, key->addr, sizeof(addr));
	set = refusal_index(hot_hash_address(info->hot_seed, address_is_mapped(addr), addr),
			    refusal_sets(info) - 1);
	CLOSED int fd = policy_map_open(table->instance, POLICY_MAP_refusals);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return bpf_map_update_elem(fd, &set, &none, BPF_ANY);
}

int hot_forget(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key)
{
	struct hot_key hot = key_of(table, numbers, key);
	struct rl_hot_slot *slot;
	int ret;

	if (!table->sets)
		return 0;
	slot = slot_find(&table->sets[hot.set], &hot);
	ret = bpf_map_delete_elem(table->spilled, &hot.fingerprint);
	if (slot)
		slot_clear(slot, hot.fingerprint);
	ret = ret == -ENOENT ? 0 : ret;
	return ret ?: refusals_forget(table, numbers, key);
}

static uint64_t sets_live(const struct rl_hot_set *sets, uint32_t count, uint64_t now)
{
	uint64_t live = 0;

	for (uint32_t i = 0; i < count; i++)
		for (int way = 0; way < RL_HOT_WAYS; way++) {
			const struct rl_hot_slot *slot = &sets[i].slot[way];

			live += slot->word && (int64_t)(slot->word - now) > 0 &&
				hot_kind(slot->fingerprint) != HOT_IS_REFUSED;
		}
	return live;
}

/* The kernel returns batches; the last one ends with -ENOENT. */
int hot_live(const struct hot_table *table, uint64_t now_ns, uint64_t *out)
{
	static struct rl_hot_set sets[FETCH];
	uint32_t keys[FETCH], cursor, *from = NULL;
	uint64_t now = gcra_now(now_ns);
	int ret = table->fd < 0 ? -ENOENT : 0;

	*out = 0;
	if (table->sets)
		*out = sets_live(table->sets, table->instance->info.hot_sets, now);
	while (!ret && !table->sets) {
		uint32_t n = FETCH;

		ret = bpf_map_lookup_batch(table->fd, from, &cursor, keys, sets, &n, NULL);
		if (!ret || ret == -ENOENT)
			*out += sets_live(sets, n, now);
		from = &cursor;
	}
	return ret == -ENOENT ? 0 : ret;
}
