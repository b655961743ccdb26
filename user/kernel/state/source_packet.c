// SPDX-License-Identifier: GPL-2.0-only
/* Looks up the state of one packet's key. */

#include "kernel/state/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include <bpf/bpf.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "kernel/state/accounts.h"
#include "kernel/state/bans.h"
#include "kernel/state/source_search.h"
#include "policy/packets/explain.h"

/* As bpf/limit/key.h computes it. */
struct rl_state_key packet_key(const struct rule *rule, const struct rl_sample *packet,
			       const struct member_ask *ask)
{
	const struct rl_limit *limit = &rule->limit;
	struct rl_state_key key = {.limit_id = rule->limit_id};
	uint8_t parts = key_parts(limit);
	const uint8_t *addr = parts_begin_with_dest(parts) ? packet->dst : packet->src;

	if (parts_are_member(limit)) {
		member_key(&key, rule, ask->by_dest ? packet->dst : packet->src, ask->members);
		return key;
	}
	if (parts & KEY_ADDRESSES)
		prefix_mask(key.addr, addr, key_bits(addr, limit->key_len4, limit->key_len6));
	if (parts_have_both(parts))
		prefix_mask(key.peer, packet->dst,
			    key_bits(packet->dst, key_dest_len4(limit), key_dest_len6(limit)));
	key.sport = parts & RL_PART_SPORT ? packet->sport : 0;
	key.dport = parts & RL_PART_DPORT ? packet->dport : 0;
	key.proto = parts & RL_PART_PROTO ? packet->proto : 0;
	key.vlan = parts & RL_PART_VLAN ? packet->vlan : 0;
	return key;
}

/* Looks up the key in the limit's LRU map. */
static int state_lookup(struct source_search *s, const struct rule *rule,
			const struct rl_state_key *key)
{
	int parts = search_parts(s), ret;
	size_t size = sizeof(struct rl_state);

	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		size = sizeof(struct rl_slots);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		size = RL_LOG_SIZE(s->instance->info.log_depth);
	CLOSED int fd = search_map_open(s->instance, rule);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	FREED void *values = calloc(parts, size);
	ret = values ? bpf_map_lookup_elem(fd, key, values) : -ENOMEM;
	if (!ret)
		ret = search_state(s, key, values, size, parts);
	return ret == -ENOENT ? 0 : ret;
}

static int limit_lookup(struct source_search *s, const struct rule *rule,
			const struct rl_state_key *key)
{
	struct rl_rule numbers = search_numbers(s, rule);
	bool hot = numbers.backend == RL_BACKEND_HOT;
	struct hot_table table;
	struct rl_state state;
	int ret;

	if (parts_are_account(&rule->limit)) {
		ret = account_read(s->instance, rule->limit_id, &state);
		return ret || !state.word ? ret : search_state(s, key, &state, sizeof(state), 1);
	}
	if (hot || numbers.backend == RL_BACKEND_UNCONFIRMED) {
		ret = hot_open(s->instance, &table);
		if (ret)
			return ret;
		ret = hot_lookup(&table, &numbers, key, hot ? search_hot : search_unconfirmed, s);
		hot_close(&table);
		if (ret || s->count || hot)
			return ret;
	}
	return state_lookup(s, rule, key);
}

/* packet_key() of a search; reads the members that the sets have now, where the key is one. */
static struct rl_state_key key_find(const struct source_search *s, const struct rule *rule,
				    const struct rl_sample *packet)
{
	struct member_ask ask = {.by_dest = s->text.by_dest};
	struct set_live sets = {0};
	struct rl_state_key key;

	if (parts_are_member(&rule->limit)) {
		set_live_open(s->instance, &sets);
		ask.members = &sets.members;
	}
	key = packet_key(rule, packet, &ask);
	set_live_close(&sets);
	return key;
}

/* Remaining time of the ban of the key, if one is given, or of the source (mapped), whichever is
 * longer. */
static uint64_t ban_left(const struct source_search *s, const struct rl_state_key *key,
			 const uint8_t source[16])
{
	struct rl_state_key all = {0};
	uint64_t until, of_key = key ? ban_until(s->instance, key) : 0;

	prefix_mask(all.addr, source, key_bits(source, 32, 64));
	until = ban_until(s->instance, &all);
	until = MAX(until, of_key);
	return until > s->ctx.now_ns ? until - s->ctx.now_ns : 0;
}

#define BATCH_NS 8000000u /* as in bpf/limit/backend_shared.h */

/* Does a CPU hold enough of the bucket for the packet (bpf/limit/backend_shared.h)? */
static bool batch_covers(const struct source_search *s, const struct rule *rule, uint64_t amount)
{
	int cpus = (int)s->ctx.possible_cpus;
	FREED struct rl_batch *batches = calloc(cpus, sizeof(*batches));
	uint32_t counter_id = rule->counter_id;

	if (!batches || bpf_map_lookup_elem(s->instance->fd.batches, &counter_id, batches))
		return false;
	for (int i = 0; i < cpus; i++)
		if (batches[i].limit_id == rule->limit_id && batches[i].left >= amount &&
		    s->ctx.now_ns - batches[i].since_ns < BATCH_NS)
			return true;
	return false;
}

/* The state that all keys of a rule share. */
static int shared_lookup(struct source_search *s, const struct rule *rule,
			 const struct rl_state_key *key)
{
	struct slot_maps maps = slot_states(s->instance);
	struct rl_shared_state value;
	uint32_t index;
	int fd = slot_map_at(&maps, rule->counter_id, &index);
	int ret = fd < 0 ? fd : bpf_map_lookup_elem(fd, &index, &value);

	slot_maps_close(&maps);
	return ret ? ret : search_state(s, key, &value.state, sizeof(value.state), 1);
}

static int key_look(struct source_search *s, const struct rule *rule,
		    const struct rl_state_key *key)
{
	uint64_t amount = rule->limit.unit == RL_PACKETS ? 1 : s->bytes;
	size_t size = RL_LOG_SIZE(s->instance->info.log_depth) + sizeof(struct rl_slots);
	int ret;

	if (rule_limits_connections(rule))
		return search_connections(s, rule, key);
	/* As bpf/limit/state.h: state_find() knows: the one state of a rule, unless it is larger.
	 */
	if (rule->limit.key == RL_KEY_RULE && rule->limit.algorithm != RL_SLIDING_WINDOW &&
	    rule->limit.algorithm != RL_SLIDING_LOG) {
		ret = shared_lookup(s, rule, key);
		if (!ret && !s->entries[0].admits)
			s->entries[0].admits = batch_covers(s, rule, amount);
		return ret;
	}
	ret = limit_lookup(s, rule, key);
	if (ret || s->count || !s->bytes)
		return ret;
	/* The packet would be admitted by a fresh state where its key has none. */
	FREED void *fresh = calloc(1, size);
	return fresh ? search_state(s, key, fresh, size, 1) : -ENOMEM;
}

int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out)
{
	struct source_search s = {.instance = instance, .policy = policy};
	int ret = 0;

	search_begin(&s);
	*out = (struct source_entry){.rule = rule};
	if (rule_limits_connections(rule) ||
	    (rule->action == RL_ACTION_LIMIT && rule->limit.key != RL_KEY_RULE)) {
		out->key = key_find(&s, rule, packet);
		ret = key_look(&s, rule, &out->key);
	}
	if (!ret && s.count)
		*out = s.entries[0];
	out->ban_ns = ban_left(&s, &out->key, packet->src);
	out->next_ns = MAX(out->ban_ns, out->allowance.wait_ns);
	free(s.entries);
	return ret;
}

int instance_limit_look(const struct instance *instance, const struct policy *policy,
			const struct rule *rule, const struct rl_sample *packet, bool kept,
			struct limit_look *out)
{
	struct source_search s = {
		.instance = instance, .policy = policy, .is_other = !kept, .bytes = packet->bytes};
	struct rl_state_key key;
	uint64_t until;
	int ret;

	search_begin(&s);
	key = key_find(&s, rule, packet);
	ret = key_look(&s, rule, &key);
	if (ret || !s.count) {
		free(s.entries);
		return ret ? ret : -ENOENT;
	}
	until = rule->limit.over == RL_OVER_BAN ? ban_until(instance, &key) : 0;
	*out = (struct limit_look){
		.admits = s.entries[0].admits,
		.remaining = s.entries[0].allowance.remaining,
		.wait_ns = s.entries[0].allowance.wait_ns,
		.ban_ns = until > s.ctx.now_ns ? until - s.ctx.now_ns : 0,
	};
	out->banned = out->ban_ns;
	free(s.entries);
	return 0;
}

uint64_t instance_source_ban(const struct instance *instance, const uint8_t source[16])
{
	struct source_search s = {.instance = instance};

	search_begin(&s);
	return ban_left(&s, NULL, source);
}
