// SPDX-License-Identifier: GPL-2.0-only
/* Finds the states and bans of one address, under every limit. */

#include "kernel/state/source.h"

#include <stdlib.h>
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/hot_key.h"
#include "algorithm/key_parts.h"
#include "algorithm/refusal_word.h"
#include "base/message.h"
#include "base/units.h"
#include "kernel/maps/hot_table.h"
#include "kernel/sets/sets.h"
#include "kernel/state/source_known.h"
#include "kernel/state/source_search.h"

static uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct source_entry *entry_find(struct source_search *s, const struct rl_state_key *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (!memcmp(&s->entries[i].key, key, sizeof(*key)))
			return &s->entries[i];
	return NULL;
}

static int ban_found(struct source_search *s, const struct rl_state_key *key, const void *values,
		     size_t value_size __attribute__((unused)), int parts __attribute__((unused)))
{
	const struct rule *rule = search_rule(s, key->limit_id);
	struct source_entry *known, entry = {.key = *key, .rule = rule};

	entry.ban_ns = search_ban_ns(s, key, values);
	if (!entry.ban_ns || !search_covers(s, key, rule))
		return 0;
	known = entry_find(s, key);
	if (known)
		known->ban_ns = entry.ban_ns;
	return known ? 0 : search_add(s, &entry);
}

/* A cached refusal whose state the LRU has evicted: all that is known until it ends. */
static int refusal_found(struct source_search *s, const struct rl_state_key *key, uint64_t word)
{
	uint64_t now = gcra_now(s->ctx.now_ns);
	struct source_entry entry = {
		.key = *key, .rule = search_rule(s, key->limit_id), .has_state = true};

	for (size_t i = 0; i < s->count; i++)
		if (!memcmp(&s->entries[i].key, key, sizeof(*key)))
			return 0;
	/* Else the slot says no more than that the key is confirmed. */
	if (!entry.rule || !key_refusal_holds(entry.rule->generation, word, now))
		return 0;
	entry.allowance.wait_ns = (key_refusal_until(word) - now) >> RL_GRAIN_SHIFT;
	return search_add(s, &entry);
}

static int unconfirmed_or_refusal_found(void *arg, const struct rl_state_key *key,
					const struct rl_hot_slot *slot)
{
	return slot->fingerprint & HOT_REFUSED ? refusal_found(arg, key, slot->word)
					       : search_unconfirmed(arg, key, slot);
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

		entry->next_ns = max_ns(entry->allowance.wait_ns, entry->ban_ns);
		if (entry->rule && !parts_begin_with_dest(key_parts(&entry->rule->limit)))
			entry->next_ns = max_ns(entry->next_ns, source_ns);
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
