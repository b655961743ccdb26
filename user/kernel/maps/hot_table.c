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
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
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
	struct rl_hot_set fetched = {0}, *set = table->sets ? &table->sets[hot.set] : &fetched;
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

/* ---- LRUs
 *
 * Those that hold the states of confirmed keys (bpf/limit/backend_unconfirmed.h): their
 * capacity, the rate at which they may fill, and the rules whose period is longer than that
 * protects. */

#define LOGS_BYTES       (64u << 20)         /* capacity of the sliding logs, which are large */
#define LRU_MIN_PER_CPU  256u                /* an LRU keeps 128 free entries on every CPU */
#define CREATION_TURN_NS (4 * NS_PER_SECOND) /* new states need this long to fill an LRU */
#define STATE_LASTS_NS   (CREATION_TURN_NS - RL_CREATION_SAVE_NS)

uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru)
{
	uint32_t least = LRU_MIN_PER_CPU * info->cpus, fit;

	if (lru != RL_LRU_LOGS)
		return info->sources;
	fit = LOGS_BYTES / RL_LOG_SIZE(info->log_depth);
	fit = fit < info->sources ? fit : info->sources;
	return fit > least ? fit : least;
}

uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru)
{
	return CREATION_TURN_NS * info->cpus / lru_states(info, lru) + 1;
}

/* The rule with the longest period among those whose states are in the LRU (as unconfirmed_lru in
 * bpf/limit/backend_unconfirmed.h says) and that it outlasts, or NULL. These admit more if their
 * state is evicted. Not a warm-up, which restarts cold and admits less. Buckets are kept in the hot
 * table, and states of rules and fleets cannot be evicted by a flood. */
static const struct rule *rule_longest(const struct policy *policy, enum rl_lru lru)
{
	const struct rule *longest = NULL;

	policy_for_each (policy, rule) {
		const struct rl_limit *limit = &rule->limit;
		enum rl_lru of = parts_are_long(key_parts(limit)) ? RL_LRU_FLOWS : RL_LRU_SOURCES;

		if (limit->algorithm == RL_SLIDING_WINDOW)
			of = RL_LRU_WINDOWS;
		else if (limit->algorithm == RL_SLIDING_LOG)
			of = RL_LRU_LOGS;
		else if (limit->algorithm != RL_FIXED_WINDOW)
			continue;
		if (rule->action == RL_ACTION_LIMIT && limit->key != RL_KEY_RULE && !limit->fleet &&
		    of == lru && limit->period_ns > STATE_LASTS_NS &&
		    (!longest || limit->period_ns > longest->limit.period_ns))
			longest = rule;
	}
	return longest;
}

void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next)
{
	char text[RULE_TEXT_MAX], room[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	char lasts[32], period[32];
	struct policy_context ctx;

	if (instance->info.table != RL_TABLE_HOT || instance->clock_injected)
		return;
	instance_context(instance, &ctx);
	duration_print(lasts, sizeof(lasts), STATE_LASTS_NS);
	for (int lru = 0; lru < RL_LRU_COUNT; lru++) {
		const struct rule *before = rule_longest(current, lru);
		const struct rule *rule = rule_longest(next, lru);
		uint32_t states = lru_states(&instance->info, lru);

		if (!rule || (before && rule->limit.period_ns <= before->limit.period_ns))
			continue;
		rule_print(text, sizeof(text), rule, &ctx);
		number_print(room, states);
		number_print(most, (states * NS_PER_SECOND - 1) / CREATION_TURN_NS + 1);
		duration_print(period, sizeof(period), rule->limit.period_ns);
		note("%s: %s: there is room for %s states: a flood of %s or more returning sources "
		     "per second replaces them within %s, and a source that is silent for that "
		     "long is forgotten before its period of %s ends: attach with %s to withstand "
		     "a larger flood",
		     instance->device, text, room, most, lasts, period,
		     states < instance->info.sources ? "a smaller --log-depth" : "more --sources");
	}
}
