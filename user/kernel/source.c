// SPDX-License-Identifier: GPL-2.0-only
/* Finds and clears the states and bans of one address, under every limit. */

#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "algorithm/gcra.h"
#include "algorithm/hot_key.h"
#include "algorithm/refusal_word.h"
#include "allowance.h"
#include "bans.h"
#include "compile.h"
#include "hot_table.h"
#include "instance.h"
#include "map_in_map.h"
#include "message.h"
#include "numbers.h"
#include "policy.h"
#include "policy_write.h"
#include "slot_maps.h"
#include "units.h"

#define CHUNK 4096u

/* A search through all maps that hold keys. */
struct search {
	const struct instance *instance;
	const struct policy *policy;
	struct compile_context ctx;
	const uint8_t *addr;
	bool ipv4;
	struct source_entry *entries;
	size_t count;
};

static int entry_append(struct search *s, const struct source_entry *entry)
{
	struct source_entry *more = reallocarray(s->entries, s->count + 1, sizeof(*s->entries));

	if (!more)
		return -ENOMEM;
	s->entries = more;
	s->entries[s->count++] = *entry;
	return 0;
}

static const struct rule *rule_of(const struct search *s, uint32_t limit_id)
{
	policy_for_each (s->policy, rule)
		if (rule->limit_id == limit_id && limit_id)
			return rule;
	return NULL;
}

/* Does a state's key (bpf/key.h) count packets of the address? A key per rule counts all packets.
 */
static bool key_is_of(const struct search *s, const struct rl_state_key *key,
		      const struct rule *rule)
{
	uint32_t len4 = rule ? rule->limit.key_len4 : 32, len6 = rule ? rule->limit.key_len6 : 64;

	if (rule && rule->limit.key == RL_KEY_RULE)
		return true;
	return prefix_contains(key->addr, key_bits(s->addr, len4, len6), s->addr);
}

/* The rule as the data path uses it. */
static struct rl_rule rule_numbers(const struct search *s, const struct rule *rule)
{
	struct rl_rule numbers = {.limit_id = rule->limit_id,
				  .counter_id = rule->counter_id,
				  .limit = rule->limit,
				  .generation = rule->generation};

	numbers_compile(&rule->limit, &s->ctx, &numbers);
	numbers.flags |= rule->lane << RL_RULE_LANE_SHIFT;
	return numbers;
}

static bool is_fresh(const char *value, size_t size)
{
	return !*value && !memcmp(value, value + 1, size - 1);
}

/* Sums the allowances of the CPUs that hold a share; the wait is the shortest one. CPUs that were
 * never online have fresh states too but no share, so only as many fresh states count as CPUs
 * remain. */
static struct allowance allowance_sum(const struct search *s, const struct rule *rule,
				      const char *values, size_t value_size, int parts)
{
	struct allowance sum = {.wait_ns = UINT64_MAX};
	struct rl_rule numbers = rule_numbers(s, rule);
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

static int state_found(struct search *s, const struct rl_state_key *key, const void *values,
		       size_t value_size, int parts)
{
	const struct rule *rule = rule_of(s, key->limit_id);
	struct source_entry entry = {.key = *key, .rule = rule, .has_state = true};

	if (!rule || !key_is_of(s, key, rule))
		return 0;
	entry.allowance = allowance_sum(s, rule, values, value_size, parts);
	return entry_append(s, &entry);
}

static struct source_entry *entry_find(struct search *s, const struct rl_state_key *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (!memcmp(&s->entries[i].key, key, sizeof(*key)))
			return &s->entries[i];
	return NULL;
}

static int ban_found(struct search *s, const struct rl_state_key *key, const void *values,
		     size_t value_size __attribute__((unused)), int parts __attribute__((unused)))
{
	const struct rule *rule = rule_of(s, key->limit_id);
	struct source_entry *known, entry = {.key = *key, .rule = rule};
	uint64_t until = ((const struct rl_ban *)values)->until_ns;

	if ((key->limit_id && !rule) || !key_is_of(s, key, rule) || until <= s->ctx.now_ns)
		return 0;
	entry.ban_ns = until - s->ctx.now_ns;
	known = entry_find(s, key);
	if (known)
		known->ban_ns = entry.ban_ns;
	return known ? 0 : entry_append(s, &entry);
}

/* Values per key: one for each possible CPU, or one in total. */
static int parts_of(const struct search *s)
{
	return s->ctx.share ? (int)s->ctx.possible_cpus : 1;
}

/* Calls `found` for every entry of a hash map; shorter keys are zero-padded to rl_state_key. */
static int map_walk(struct search *s, int fd, size_t key_size, size_t value_size, int parts,
		    int (*found)(struct search *, const struct rl_state_key *, const void *, size_t,
				 int))
{
	uint32_t chunk = value_size > 1024 ? CHUNK / 16 : CHUNK, n, cursor, *from = NULL;
	char *keys = calloc(chunk, key_size), *values = calloc(chunk, value_size * parts);
	int ret = keys && values ? 0 : -ENOMEM, end = 0;

	while (!ret && !end) {
		n = chunk;
		if (bpf_map_lookup_batch(fd, from, &cursor, keys, values, &n, NULL)) {
			end = errno == ENOENT;
			ret = end ? 0 : -errno;
		}
		for (uint32_t i = 0; !ret && i < n; i++) {
			struct rl_state_key key = {0};

			memcpy(&key, keys + i * key_size, key_size);
			ret = found(s, &key, values + i * value_size * parts, value_size, parts);
		}
		from = &cursor;
	}
	free(keys);
	free(values);
	return ret;
}

static int inner_walk(struct search *s, int outer, size_t value_size, int parts,
		      int (*found)(struct search *, const struct rl_state_key *, const void *,
				   size_t, int))
{
	int fd = inner_open(s->instance, outer, 0), ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret = map_walk(s, fd, sizeof(struct rl_state_key), value_size, parts, found);
	close(fd);
	return ret;
}

/* States per rule, in the map indexed by slot. */
static int shared_walk(struct search *s)
{
	struct rl_shared_state value;
	struct slot_maps maps = slot_states(s->instance);
	int ret = 0, fd;

	policy_for_each (s->policy, rule) {
		struct rl_state_key key = {.limit_id = rule->limit_id};
		uint32_t index;

		if (rule->action != RL_ACTION_LIMIT || rule->limit.key != RL_KEY_RULE ||
		    rule->limit.algorithm == RL_SLIDING_WINDOW ||
		    rule->limit.algorithm == RL_SLIDING_LOG)
			continue;
		fd = ret ? ret : slot_map_at(&maps, rule->counter_id, &index);
		if (fd < 0)
			ret = fd;
		else if (bpf_map_lookup_elem(fd, &index, &value))
			ret = -errno;
		else
			ret = state_found(s, &key, &value.state, sizeof(value.state), 1);
	}
	slot_maps_close(&maps);
	return ret;
}

/* A bucket in the hot table. */
static int hot_found(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot)
{
	struct rl_state state = {.word = slot->word};

	return state_found(arg, key, &state, sizeof(state), 1);
}

/* A cached refusal whose state the LRU has evicted: all that is known until it ends. */
static int refusal_found(struct search *s, const struct rl_state_key *key, uint64_t word)
{
	uint64_t now = gcra_now(s->ctx.now_ns);
	struct source_entry entry = {
		.key = *key, .rule = rule_of(s, key->limit_id), .has_state = true};

	for (size_t i = 0; i < s->count; i++)
		if (!memcmp(&s->entries[i].key, key, sizeof(*key)))
			return 0;
	/* Else the slot says no more than that the key is confirmed. */
	if (!entry.rule || !key_refusal_holds(entry.rule->generation, word, now))
		return 0;
	entry.allowance.wait_ns = (key_refusal_until(word) - now) >> RL_GRAIN_SHIFT;
	return entry_append(s, &entry);
}

/* An unconfirmed key. */
static int unconfirmed_found(void *arg, const struct rl_state_key *key,
			     const struct rl_hot_slot *slot)
{
	struct search *s = arg;
	struct source_entry entry = {
		.key = *key, .rule = rule_of(s, key->limit_id), .has_state = true};
	struct rl_rule numbers = rule_numbers(s, entry.rule);

	if (hot_kind(slot->fingerprint) == HOT_IS_REFUSED ||
	    (int64_t)(slot->word - gcra_now(s->ctx.now_ns)) <= 0)
		return 0;
	entry.allowance = allowance_of_unconfirmed(&numbers, slot, s->ctx.now_ns);
	return entry_append(s, &entry);
}

static int unconfirmed_or_refusal_found(void *arg, const struct rl_state_key *key,
					const struct rl_hot_slot *slot)
{
	return slot->fingerprint & HOT_REFUSED ? refusal_found(arg, key, slot->word)
					       : unconfirmed_found(arg, key, slot);
}

/* The key of the address under a limit, without ports. */
static struct rl_state_key key_made(const struct search *s, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	struct rl_state_key key = {.limit_id = rule->limit_id};

	prefix_mask(key.addr, s->addr, key_bits(s->addr, limit->key_len4, limit->key_len6));
	return key;
}

static int hot_walk(struct search *s)
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
		numbers = rule_numbers(s, rule);
		key = key_made(s, rule);
		if (numbers.backend != RL_BACKEND_HOT && numbers.backend != RL_BACKEND_UNCONFIRMED)
			continue;
		if (rule->limit.key != RL_KEY_SOURCE_DEST && rule->limit.key != RL_KEY_FLOW)
			ret = hot_visit(&table, &numbers, &key,
					numbers.backend == RL_BACKEND_HOT
						? hot_found
						: unconfirmed_or_refusal_found,
					s);
	}
	hot_close(&table);
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

static int search_all(struct search *s)
{
	const struct instance_maps *fd = &s->instance->fd;
	int parts = parts_of(s);
	int ret =
		map_walk(s, fd->sources, RL_SHORT_KEY, sizeof(struct rl_state), parts, state_found);

	if (!ret)
		ret = inner_walk(s, fd->flows, sizeof(struct rl_state), parts, state_found);
	if (!ret)
		ret = inner_walk(s, fd->windows, sizeof(struct rl_slots), parts, state_found);
	if (!ret)
		ret = inner_walk(s, fd->logs, RL_LOG_SIZE(s->instance->info.log_depth), parts,
				 state_found);
	if (!ret && s->ctx.hot)
		ret = hot_walk(s);
	if (!ret)
		ret = shared_walk(s);
	if (!ret)
		ret = inner_walk(s, fd->bans, sizeof(struct rl_ban), 1, ban_found);
	return ret;
}

int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count)
{
	struct policy_context text;
	struct search s = {.instance = instance, .policy = policy, .addr = addr};
	int ret;

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &s.ctx);
	s.ipv4 = prefix_is_ipv4(addr, 128);
	ret = search_all(&s);
	if (ret) {
		free(s.entries);
		fail("%s: reading the states failed: %s", instance->device, strerror(-ret));
		return ret;
	}
	if (s.count)
		qsort(s.entries, s.count, sizeof(*s.entries), entry_compare);
	*out = s.entries;
	*count = s.count;
	return 0;
}

/* The map that holds the states of a limit. */
static int state_map_open(const struct instance *instance, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	int fd;

	if (limit->algorithm == RL_SLIDING_WINDOW)
		return inner_open(instance, instance->fd.windows, 0);
	if (limit->algorithm == RL_SLIDING_LOG)
		return inner_open(instance, instance->fd.logs, 0);
	if (limit->key == RL_KEY_SOURCE_DEST || limit->key == RL_KEY_FLOW)
		return inner_open(instance, instance->fd.flows, 0);
	fd = dup(instance->fd.sources);
	return fd < 0 ? -errno : fd;
}

/* ---- one packet's key */

/* As bpf/key.h computes it. */
static struct rl_state_key key_of_packet(const struct search *s, const struct rule *rule,
					 const struct rl_sample *packet)
{
	const struct rl_limit *limit = &rule->limit;
	struct rl_state_key key = {.limit_id = rule->limit_id};

	if (limit->key == RL_KEY_RULE)
		return key;
	prefix_mask(key.addr, s->addr, key_bits(s->addr, limit->key_len4, limit->key_len6));
	if (limit->key == RL_KEY_SOURCE_DEST || limit->key == RL_KEY_FLOW)
		prefix_mask(key.peer, packet->dst,
			    key_bits(packet->dst, limit->key_len4, limit->key_len6));
	if (limit->key == RL_KEY_SOURCE_DPORT || limit->key == RL_KEY_FLOW)
		key.dport = packet->dport;
	if (limit->key == RL_KEY_FLOW) {
		key.sport = packet->sport;
		key.proto = packet->proto;
	}
	return key;
}

/* Looks up the key in the limit's LRU map. */
static int state_lookup(struct search *s, const struct rule *rule, const struct rl_state_key *key)
{
	int parts = parts_of(s), fd, ret = 0;
	size_t size = sizeof(struct rl_state);
	void *values;

	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		size = sizeof(struct rl_slots);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		size = RL_LOG_SIZE(s->instance->info.log_depth);
	fd = state_map_open(s->instance, rule);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	values = calloc(parts, size);
	ret = values ? bpf_map_lookup_elem(fd, key, values) : -ENOMEM;
	if (!ret)
		ret = state_found(s, key, values, size, parts);
	free(values);
	close(fd);
	return ret == -ENOENT ? 0 : ret;
}

static int limit_lookup(struct search *s, const struct rule *rule, const struct rl_state_key *key)
{
	struct rl_rule numbers = rule_numbers(s, rule);
	struct hot_table table;
	int ret;

	if (rule->limit.key == RL_KEY_RULE)
		return 0; /* shared by all keys */
	if (numbers.backend == RL_BACKEND_HOT || numbers.backend == RL_BACKEND_UNCONFIRMED) {
		ret = hot_open(s->instance, &table);
		if (ret)
			return ret;
		ret = hot_lookup(&table, &numbers, key,
				 numbers.backend == RL_BACKEND_HOT ? hot_found : unconfirmed_found,
				 s);
		hot_close(&table);
		if (ret || s->count || numbers.backend == RL_BACKEND_HOT)
			return ret;
	}
	return state_lookup(s, rule, key);
}

/* Remaining time of the ban of the key or of its source, whichever is longer. */
static uint64_t ban_lookup(const struct search *s, const struct rl_state_key *key)
{
	struct rl_state_key source = {0};
	uint64_t until = ban_until(s->instance, key), until_source;

	prefix_mask(source.addr, s->addr, key_bits(s->addr, 32, 64));
	until_source = ban_until(s->instance, &source);
	if (until < until_source)
		until = until_source;
	return until > s->ctx.now_ns ? until - s->ctx.now_ns : 0;
}

int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out)
{
	bool dest = rule->limit.key == RL_KEY_DEST;
	struct search s = {.instance = instance,
			   .policy = policy,
			   .addr = dest ? packet->dst : packet->src,
			   .ipv4 = prefix_is_ipv4(packet->src, 128)};
	struct policy_context text;
	int ret = 0;

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &s.ctx);
	*out = (struct source_entry){.rule = rule};
	if (rule->action == RL_ACTION_LIMIT) {
		out->key = key_of_packet(&s, rule, packet);
		ret = limit_lookup(&s, rule, &out->key);
	}
	if (!ret && s.count)
		*out = s.entries[0];
	s.addr = packet->src;
	out->ban_ns = ban_lookup(&s, &out->key);
	free(s.entries);
	return ret;
}

/* ---- clearing */

/* Deletes the entry's key and closes fd; a map that does not exist has nothing to clear. */
static int map_forget(int fd, const struct source_entry *entry)
{
	int ret = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_map_delete_elem(fd, &entry->key) && errno != ENOENT)
		ret = -errno;
	close(fd);
	return ret;
}

/* Clears one entry in every map that may hold it. */
static int entry_forget(struct search *s, const struct hot_table *table,
			const struct source_entry *entry)
{
	struct rl_rule numbers = {0};
	int ret;

	if (entry->rule && entry->rule->limit.key == RL_KEY_RULE)
		return 0; /* shared by all keys */
	ret = ban_forget(s->instance, &entry->key);
	if (!entry->has_state || !entry->rule)
		return ret;
	numbers = rule_numbers(s, entry->rule);
	if (numbers.backend == RL_BACKEND_HOT)
		return ret ? ret : hot_forget(table, &numbers, &entry->key);
	ret = ret ? ret : map_forget(state_map_open(s->instance, entry->rule), entry);
	if (!ret && entry->rule->limit.fleet)
		ret = map_forget(inner_open(s->instance, s->instance->fd.fleet_keys, 0), entry);
	if (!ret && numbers.backend == RL_BACKEND_UNCONFIRMED)
		/* after the state, from which a packet would restore it */
		ret = hot_forget(table, &numbers, &entry->key);
	return ret;
}

int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count)
{
	struct search s = {.instance = instance};
	struct policy_context text;
	struct hot_table table = {0};
	int ret = hot_open(instance, &table);

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &s.ctx);
	for (size_t i = 0; !ret && i < count; i++)
		ret = entry_forget(&s, &table, &entries[i]);
	if (ret)
		fail("%s: clearing the states failed: %s", instance->device, strerror(-ret));
	if (table.sets)
		hot_close(&table);
	return ret;
}
