// SPDX-License-Identifier: GPL-2.0-only
/* The parts that searches for states share: rules, and how a state becomes an entry. */

#include "kernel/state/source_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "algorithm/hot_key.h"
#include "algorithm/key_parts.h"
#include "base/units.h"
#include "compile/numbers.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/connections.h"
#include "kernel/scope.h"
#include "kernel/state/accounts.h"

void search_begin(struct source_search *s)
{
	struct rl_policy_header header;

	instance_context(s->instance, &s->text);
	instance_compile_context(s->instance, &s->text, &s->ctx);
	s->source_bans =
		!policy_header_read(s->instance, &header) && header.uses & RL_USE_SOURCE_BANS;
}

static int id_compare(const void *a, const void *b)
{
	const struct search_id *x = a, *y = b;

	return x->limit_id < y->limit_id ? -1 : x->limit_id > y->limit_id;
}

int search_index(struct source_search *s)
{
	size_t n = 0;

	s->by_id = calloc(s->policy->count + 1, sizeof(*s->by_id));
	if (!s->by_id)
		return -ENOMEM;
	policy_for_each (s->policy, rule)
		/* An account is of an address if a rule of it is. */
		if (!s->addr || rule->action != RL_ACTION_LIMIT ||
		    !parts_are_account(&rule->limit) || rule->kind == PREFIX_ANY ||
		    rule_level(rule, s->addr, s->members) != LEVEL_NONE)
			s->by_id[n++] = (struct search_id){rule->limit_id, rule};
	s->by_id_count = n;
	qsort(s->by_id, n, sizeof(*s->by_id), id_compare);
	return 0;
}

void search_end(struct source_search *s)
{
	free(s->by_id);
	s->by_id = NULL;
}

/* Grows at powers of two. */
int search_add(struct source_search *s, const struct source_entry *entry)
{
	struct source_entry *more = s->entries;

	if (!(s->count & (s->count - 1)))
		more = reallocarray(more, s->count ? 2 * s->count : 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->entries = more;
	s->entries[s->count++] = *entry;
	return 0;
}

const struct rule *search_rule(const struct source_search *s, uint32_t limit_id)
{
	const struct search_id wanted = {.limit_id = limit_id}, *found;

	if (!limit_id)
		return NULL;
	if (s->by_id) {
		found = bsearch(&wanted, s->by_id, s->by_id_count, sizeof(*s->by_id), id_compare);
		return found ? found->rule : NULL;
	}
	policy_for_each (s->policy, rule)
		if (rule->limit_id == limit_id)
			return rule;
	return NULL;
}

void member_key(struct rl_state_key *key, const struct rule *rule, const uint8_t addr[16],
		const struct set_members *members)
{
	int len = set_member_len(members, rule->set, addr);

	if (len < 0)
		return;
	key->sport = len;
	prefix_mask(key->addr, addr, len);
}

bool search_covers(const struct source_search *s, const struct rl_state_key *key,
		   const struct rule *rule)
{
	uint32_t len4 = rule ? rule->limit.key_len4 : 32, len6 = rule ? rule->limit.key_len6 : 64;

	if (!s->addr || (rule && rule->limit.key == RL_KEY_RULE))
		return true;
	if (rule && parts_are_account(&rule->limit))
		return true;
	if (rule && parts_are_member(&rule->limit))
		return prefix_contains(key->addr, key->sport, s->addr);
	if (rule && !(key_parts(&rule->limit) & KEY_ADDRESSES))
		return false;
	return prefix_contains(key->addr, key_bits(s->addr, len4, len6), s->addr);
}

/* Is it for the packet or the address? An address may have packets that are established, and
 * others. */
static bool keeps_for(const struct source_search *s, const struct rule *rule)
{
	if (!s->addr)
		return !s->is_other;
	if (rule->limit.keep_for == RL_KEEP_SET)
		return set_member_len(s->members, rule->keep_set, s->addr) >= 0;
	return rule->limit.keep_for == RL_KEEP_KNOWN && s->is_known;
}

struct rl_rule search_numbers(const struct source_search *s, const struct rule *rule)
{
	struct rl_rule numbers = {.limit_id = rule->limit_id,
				  .counter_id = rule->counter_id,
				  .limit = rule->limit,
				  .generation = rule->generation};

	numbers_compile(&rule->limit, &s->ctx, &numbers);
	numbers.flags |= rule->lane << RL_RULE_LANE_SHIFT;
	if (numbers.backend == RL_BACKEND_PARTS && keeps_for(s, rule))
		numbers.parts.reserve = 0;
	return numbers;
}

/* As bpf/limit/limiter.h and bpf/rlctl.bpf.c ask for bans. */
uint64_t search_ban_ns(const struct source_search *s, const struct rl_state_key *key,
		       const struct rl_ban *ban)
{
	const struct rule *rule = search_rule(s, key->limit_id);
	bool asked = key->limit_id ? rule && rule->limit.over == RL_OVER_BAN : s->source_bans;

	return asked && ban->until_ns > s->ctx.now_ns ? ban->until_ns - s->ctx.now_ns : 0;
}

static bool is_fresh(const char *value, size_t size)
{
	return !*value && !memcmp(value, value + 1, size - 1);
}

/* Sums the allowances of the CPUs that hold a share; the wait is the shortest one. CPUs that were
 * never online have fresh states too but no share, so only as many fresh states count as CPUs
 * remain. */
static struct allowance allowance_sum(const struct source_search *s, const struct rule *rule,
				      const char *values, size_t value_size, int parts)
{
	struct allowance sum = {.wait_ns = UINT64_MAX};
	struct rl_rule numbers = search_numbers(s, rule);
	uint64_t now_ns = s->ctx.now_ns;
	int left = parts > 1 ? (int)s->ctx.cpus : 1;

	for (int i = 0; i < parts; i++)
		left -= parts > 1 && !is_fresh(values + i * value_size, value_size);
	for (int i = 0; i < parts; i++) {
		struct allowance a = allowance_of(&numbers, values + i * value_size, now_ns,
						  s->instance->info.log_depth);

		if (is_fresh(values + i * value_size, value_size) && left-- <= 0)
			continue;
		sum.remaining += a.remaining;
		sum.wait_ns = a.wait_ns < sum.wait_ns ? a.wait_ns : sum.wait_ns;
	}
	return sum;
}

/* Where each CPU has a state, one is enough. */
static bool any_admits(const struct source_search *s, const struct rule *rule, const char *values,
		       size_t value_size, int parts)
{
	struct rl_rule numbers = search_numbers(s, rule);
	uint64_t amount = rule->limit.unit == RL_PACKETS ? 1 : s->bytes;

	for (int i = 0; i < parts; i++)
		if (state_admits(&numbers, values + i * value_size, s->ctx.now_ns,
				 s->instance->info.log_depth, amount))
			return true;
	return false;
}

int search_state(struct source_search *s, const struct rl_state_key *key, const void *values,
		 size_t value_size, int parts)
{
	const struct rule *rule = search_rule(s, key->limit_id);
	struct source_entry entry = {.key = *key, .rule = rule, .has_state = true};

	if (!rule || !search_covers(s, key, rule))
		return 0;
	entry.allowance = allowance_sum(s, rule, values, value_size, parts);
	if (s->spent && entry.allowance.remaining)
		return 0;
	entry.admits = s->bytes && any_admits(s, rule, values, value_size, parts);
	return search_add(s, &entry);
}

int search_connections(struct source_search *s, const struct rule *rule,
		       const struct rl_state_key *key)
{
	struct source_entry entry = {.key = *key, .rule = rule, .has_state = true};
	uint64_t open;
	int ret = connections_of_key(s->instance, rule, key, &open);

	if (ret)
		return ret;
	entry.admits = open < rule->limit.amount;
	entry.allowance.remaining = entry.admits ? rule->limit.amount - open : 0;
	return search_add(s, &entry);
}

int search_parts(const struct source_search *s)
{
	return s->ctx.share ? (int)s->ctx.possible_cpus : 1;
}

int search_hot(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot)
{
	struct rl_state state = {.word = slot->word};

	return search_state(arg, key, &state, sizeof(state), 1);
}

int search_unconfirmed(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot)
{
	struct source_search *s = arg;
	struct source_entry entry = {
		.key = *key, .rule = search_rule(s, key->limit_id), .has_state = true};
	struct rl_rule numbers;

	if (!entry.rule || hot_kind(slot->fingerprint) == HOT_IS_REFUSED ||
	    (int64_t)(slot->word - gcra_now(s->ctx.now_ns)) <= 0)
		return 0;
	numbers = search_numbers(s, entry.rule);
	entry.allowance = allowance_of_unconfirmed(&numbers, slot, s->ctx.now_ns);
	entry.admits = entry.allowance.remaining;
	return search_add(s, &entry);
}

int search_map_open(const struct instance *instance, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	enum policy_map map = POLICY_MAP_sources;

	if (limit->algorithm == RL_SLIDING_WINDOW)
		map = POLICY_MAP_windows;
	else if (limit->algorithm == RL_SLIDING_LOG)
		map = POLICY_MAP_logs;
	else if (parts_are_long(key_parts(limit)))
		map = POLICY_MAP_flows;
	return policy_map_open(instance, map);
}

/* ---- walks through the maps that hold states and bans by their keys */

/* A hash map of states by key; shorter keys are zero-padded to rl_state_key. */
struct state_map {
	struct source_search *s;
	enum policy_map map;
	size_t key_size, value_size;
};

static int state_found(void *arg, const void *of, const void *values)
{
	const struct state_map *map = arg;
	struct rl_state_key key = {0};

	memcpy(&key, of, map->key_size);
	return search_state(map->s, &key, values, map->value_size, search_parts(map->s));
}

int states_walk(struct source_search *s)
{
	const size_t long_key = sizeof(struct rl_state_key);
	struct state_map maps[] = {
		{s, POLICY_MAP_sources, RL_SHORT_KEY, sizeof(struct rl_state)},
		{s, POLICY_MAP_flows, long_key, sizeof(struct rl_state)},
		{s, POLICY_MAP_windows, long_key, sizeof(struct rl_slots)},
		{s, POLICY_MAP_logs, long_key, RL_LOG_SIZE(s->instance->info.log_depth)},
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
		ret = map_walk(policy_map_open(s->instance, maps[i].map), state_found, &maps[i]);
	return ret;
}

int bans_walk(struct source_search *s, map_entry_fn found)
{
	return map_walk(inner_open(s->instance, s->instance->fd.bans, 0), found, s);
}

int shared_walk(struct source_search *s)
{
	struct rl_shared_state value;
	struct slot_maps maps = slot_states(s->instance);
	int ret = 0, fd;

	policy_for_each (s->policy, rule) {
		struct rl_state_key key = {.limit_id = rule->limit_id};
		uint32_t index;

		if (ret || rule->action != RL_ACTION_LIMIT)
			continue;
		if (parts_are_account(&rule->limit)) {
			if (search_rule(s, rule->limit_id) != rule)
				continue; /* each once, whatever rules it has */
			ret = account_read(s->instance, rule->limit_id, &value.state);
			if (!ret && value.state.word)
				ret = search_state(s, &key, &value.state, sizeof(value.state), 1);
			continue;
		}
		if (rule->limit.key != RL_KEY_RULE || rule_limits_connections(rule) ||
		    (s->addr && rule->limit.share[0]) || /* not for each address */
		    rule->limit.algorithm == RL_SLIDING_WINDOW ||
		    rule->limit.algorithm == RL_SLIDING_LOG)
			continue;
		fd = slot_map_at(&maps, rule->counter_id, &index);
		ret = fd < 0 ? fd : bpf_map_lookup_elem(fd, &index, &value);
		if (!ret)
			ret = search_state(s, &key, &value.state, sizeof(value.state), 1);
	}
	slot_maps_close(&maps);
	return ret;
}
