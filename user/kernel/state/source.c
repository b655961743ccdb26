// SPDX-License-Identifier: GPL-2.0-only
/* Finds the states and bans of one address, under every limit. */

#include "kernel/state/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "algorithm/hot_hash.h"
#include "algorithm/hot_key.h"
#include "algorithm/key_parts.h"
#include "algorithm/known_filter.h"
#include "algorithm/refusal_word.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "kernel/state/bans.h"

static struct source_entry *entry_find(struct source_search *s, const struct rl_state_key *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (!memcmp(&s->entries[i].key, key, sizeof(*key)))
			return &s->entries[i];
	return NULL;
}

static int ban_found(void *arg, const void *of, const void *ban)
{
	struct source_search *s = arg;
	const struct rl_state_key *key = of;
	const struct rule *rule = search_rule(s, key->limit_id);
	struct source_entry *known, entry = {.key = *key, .rule = rule};

	entry.ban_ns = search_ban_ns(s, key, ban);
	if (!entry.ban_ns || !search_covers(s, key, rule))
		return 0;
	known = entry_find(s, key);
	if (known)
		known->ban_ns = entry.ban_ns;
	return known ? 0 : search_add(s, &entry);
}

/* An unconfirmed key, or a cached refusal whose state the LRU has evicted: all that is known until
 * it ends. */
static int unconfirmed_or_refusal_found(void *arg, const struct rl_state_key *key,
					const struct rl_hot_slot *slot)
{
	struct source_search *s = arg;
	uint64_t now = gcra_now(s->ctx.now_ns);
	struct source_entry entry = {
		.key = *key, .rule = search_rule(s, key->limit_id), .has_state = true};

	if (!(slot->fingerprint & HOT_REFUSED))
		return search_unconfirmed(s, key, slot);
	/* Else the slot says no more than that the key is confirmed. */
	if (entry_find(s, key) || !entry.rule ||
	    !key_refusal_holds(entry.rule->generation, slot->word, now))
		return 0;
	entry.allowance.wait_ns = (key_refusal_until(slot->word) - now) >> RL_GRAIN_SHIFT;
	return search_add(s, &entry);
}

/* The key of the address under a limit, without ports and protocol. */
static struct rl_state_key key_made(const struct source_search *s, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	struct rl_state_key key = {.limit_id = rule->limit_id};

	if (parts_are_member(limit))
		member_key(&key, rule, s->addr, s->members);
	else
		prefix_mask(key.addr, s->addr, key_bits(s->addr, limit->key_len4, limit->key_len6));
	return key;
}

static int hot_walk(struct source_search *s)
{
	struct hot_table table;
	int ret = hot_open(s->instance, &table);

	if (ret)
		return ret;
	policy_for_each (s->policy, rule) {
		struct rl_state_key key;
		struct rl_rule numbers;

		if (ret || rule->action != RL_ACTION_LIMIT)
			continue;
		numbers = search_numbers(s, rule);
		key = key_made(s, rule);
		if (numbers.backend != RL_BACKEND_HOT && numbers.backend != RL_BACKEND_UNCONFIRMED)
			continue;
		if (hot_can_visit(&rule->limit))
			ret = hot_visit(&table, &numbers, &key,
					numbers.backend == RL_BACKEND_HOT
						? search_hot
						: unconfirmed_or_refusal_found,
					s);
	}
	hot_close(&table);
	return ret;
}

/* Under limits on connections, but those that count by more than the address. */
static int connections_walk(struct source_search *s)
{
	const uint8_t more = (uint8_t) ~(s->text.by_dest ? RL_PART_DEST : RL_PART_SOURCE);
	int ret = 0;

	policy_for_each (s->policy, rule) {
		struct rl_state_key key;

		if (ret || !rule_limits_connections(rule) || key_parts(&rule->limit) & more)
			continue;
		key = key_made(s, rule);
		ret = search_connections(s, rule, &key);
	}
	return ret;
}

/* In policy order; bans from everything first. */
static int entry_compare(const void *a, const void *b)
{
	const struct source_entry *x = a, *y = b;

	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* A ban of the source from everything holds for each key that its packets count under. */
static void next_find(struct source_search *s)
{
	uint64_t source_ns = 0;

	for (size_t i = 0; i < s->count; i++)
		if (!s->entries[i].rule)
			source_ns = s->entries[i].ban_ns;
	for (size_t i = 0; i < s->count; i++) {
		struct source_entry *entry = &s->entries[i];

		entry->next_ns = MAX(entry->allowance.wait_ns, entry->ban_ns);
		if (entry->rule && !parts_begin_with_dest(key_parts(&entry->rule->limit)))
			entry->next_ns = MAX(entry->next_ns, source_ns);
	}
}

/* Reads what limits with `keep` and keys of sets or accounts ask of the address; *sets is to be
 * closed. */
static int class_read(struct source_search *s, struct set_live *sets)
{
	bool keeps = false;

	policy_for_each (s->policy, rule)
		keeps |= rule->limit.keep_for || parts_are_apart(&rule->limit);
	if (!keeps)
		return 0;
	set_live_open(s->instance, sets);
	s->members = &sets->members;
	return s->text.by_dest ? 0 : instance_source_is_known(s->instance, s->addr, &s->is_known);
}

int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count)
{
	struct source_search s = {.instance = instance, .policy = policy, .addr = addr};
	struct set_live sets = {0};
	int ret;

	search_begin(&s);
	ret = class_read(&s, &sets);
	if (!ret)
		ret = search_index(&s);
	if (!ret)
		ret = states_walk(&s);
	if (!ret && s.ctx.hot)
		ret = hot_walk(&s);
	if (!ret)
		ret = shared_walk(&s);
	if (!ret)
		ret = connections_walk(&s);
	if (!ret)
		ret = bans_walk(&s, ban_found);
	search_end(&s);
	set_live_close(&sets);
	if (ret) {
		free(s.entries);
		fail("%s: reading the states failed: %s", instance->device, strerror(-ret));
		return ret;
	}
	next_find(&s);
	if (s.count)
		qsort(s.entries, s.count, sizeof(*s.entries), entry_compare);
	*out = s.entries;
	*count = s.count;
	return 0;
}

/* ---- the sources that are banned, and those at a limit */

/* A ban, and how long it holds yet. */
static int banned_found(void *arg, const void *of, const void *ban)
{
	struct source_search *s = arg;
	const struct rl_state_key *key = of;
	struct source_entry entry = {.key = *key, .rule = search_rule(s, key->limit_id)};

	entry.next_ns = entry.ban_ns = search_ban_ns(s, key, ban);
	return entry.ban_ns ? search_add(s, &entry) : 0;
}

static int list_read(const struct instance *instance, const struct policy *policy, bool bans,
		     struct source_entry **out, size_t *count)
{
	struct source_search s = {
		.instance = instance, .policy = policy, .is_other = true, .spent = true};
	int ret;

	search_begin(&s);
	ret = search_index(&s);
	if (!ret)
		ret = bans ? bans_walk(&s, banned_found) : states_walk(&s);
	if (!ret && !bans)
		ret = shared_walk(&s);
	for (size_t i = 0; !bans && i < s.count; i++)
		s.entries[i].next_ns = s.entries[i].allowance.wait_ns;
	search_end(&s);
	if (ret) {
		free(s.entries);
		return ret;
	}
	*out = s.entries;
	*count = s.count;
	return 0;
}

int instance_bans_read(const struct instance *instance, const struct policy *policy,
		       struct source_entry **out, size_t *count)
{
	return list_read(instance, policy, true, out, count);
}

int instance_limited_read(const struct instance *instance, const struct policy *policy,
			  struct source_entry **out, size_t *count)
{
	return list_read(instance, policy, false, out, count);
}

/* ---- clearing states and bans */

/* Deletes the key from a map, as it was opened; one that does not exist has nothing to clear. */
static int map_forget(int opened, const void *key)
{
	CLOSED int fd = opened;
	int ret = fd < 0 ? fd : bpf_map_delete_elem(fd, key);

	return ret == -ENOENT ? 0 : ret;
}

/* A state that all keys share stays. */
static bool is_shared(const struct source_entry *entry)
{
	return entry->rule && entry->rule->limit.key == RL_KEY_RULE;
}

/* Clears the state of one entry in every map that may hold it. */
static int state_forget(struct source_search *s, const struct hot_table *table,
			const struct source_entry *entry)
{
	struct rl_rule numbers = {0};
	int ret;

	if (!entry->has_state || !entry->rule)
		return 0;
	if (parts_are_account(&entry->rule->limit))
		return map_forget(policy_map_open(s->instance, POLICY_MAP_accounts),
				  &entry->rule->limit_id);
	numbers = search_numbers(s, entry->rule);
	if (numbers.backend == RL_BACKEND_HOT)
		return hot_forget(table, &numbers, &entry->key);
	ret = map_forget(search_map_open(s->instance, entry->rule), &entry->key);
	if (!ret && entry->rule->limit.fleet)
		ret = map_forget(policy_map_open(s->instance, POLICY_MAP_fleet_keys), &entry->key);
	if (!ret && numbers.backend == RL_BACKEND_UNCONFIRMED)
		/* after the state, from which a packet would restore it */
		ret = hot_forget(table, &numbers, &entry->key);
	return ret;
}

/* Bans after all states: a packet between the two would be over by its old state, and banned anew,
 * while one that is banned reaches no state. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count)
{
	struct source_search s = {.instance = instance};
	struct hot_table table;
	int ret = hot_open(instance, &table);

	search_begin(&s);
	for (size_t i = 0; !ret && i < count; i++)
		ret = is_shared(&entries[i]) ? 0 : state_forget(&s, &table, &entries[i]);
	for (size_t i = 0; !ret && i < count; i++)
		ret = is_shared(&entries[i]) ? 0 : ban_forget(instance, &entries[i].key);
	if (ret)
		fail("%s: clearing the states failed: %s", instance->device, strerror(-ret));
	hot_close(&table);
	return ret;
}

/* Is the word of a source that is ripe, as bpf/match/known_source.h says? */
static bool is_ripe(const struct instance *instance, uint64_t word)
{
	struct rl_policy_header header;

	return word & KNOWN_RIPE || policy_header_read(instance, &header) || !header.ripens_ms;
}

static int known_found(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot)
{
	const struct source_search *s = arg;

	(void)key;
	return (int64_t)(slot->word - gcra_now(s->ctx.now_ns)) > 0 &&
	       is_ripe(s->instance, slot->word);
}

int instance_source_is_known(const struct instance *instance, const uint8_t source[16], bool *known)
{
	const struct rl_rule numbers = {.flags = RL_RULE_LOOKUP_ADDRESS | RL_RULE_SIMPLE};
	struct source_search s = {.instance = instance};
	struct rl_state_key key = {0};
	struct hot_table table;
	int ret;

	*known = false;
	search_begin(&s);
	if (s.ctx.hot) {
		ret = hot_open(instance, &table);
		if (ret)
			return ret;
		memcpy(key.addr, source, sizeof(key.addr));
		ret = hot_lookup(&table, &numbers, &key, known_found, &s);
		hot_close(&table);
		*known = ret > 0;
		return ret < 0 ? ret : 0;
	}
	prefix_mask(key.addr, source, key_bits(source, 32, 64));
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_sources);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	FREED struct rl_state *states = calloc(search_parts(&s), sizeof(*states));
	ret = !states ? -ENOMEM : bpf_map_lookup_elem(fd, &key, states);
	for (int i = 0; !ret && i < search_parts(&s); i++)
		*known |= is_ripe(instance, states[i].word);
	return ret == -ENOENT ? 0 : ret;
}

int known_then_read(const struct instance *instance, struct known_then *out)
{
	uint32_t count = instance->info.hot_sets ? known_sets(instance->info.hot_sets) : 0;
	CLOSED int fd = count ? policy_map_open(instance, POLICY_MAP_known_filter) : -ENOENT;
	int ret = fd < 0 ? fd : map_value_check(fd, count * sizeof(*out->sets));

	if (!ret && !out->sets)
		out->sets = calloc(count, sizeof(*out->sets));
	if (!ret)
		ret = out->sets ? map_get(fd, out->sets) : -ENOMEM;
	if (ret)
		known_then_clear(out);
	else
		*out = (struct known_then){out->sets, count - 1,
					   known_epoch(clock_ns(CLOCK_MONOTONIC))};
	return ret;
}

void known_then_clear(struct known_then *then)
{
	free(then->sets);
	*then = (struct known_then){0};
}

bool known_then_has(const struct known_then *then, const struct instance *instance,
		    const uint8_t source[16])
{
	__u64 addr[2], address;

	if (!then->sets)
		return false;
	memcpy(addr, source, sizeof(addr));
	address = hot_hash_address(instance->info.hot_seed, address_is_mapped(addr), addr);
	return known_may(&then->sets[known_index(address, then->mask)], known_bit(address),
			 then->epoch);
}
