// SPDX-License-Identifier: GPL-2.0-only
/* Looks up the state of one packet's key. */

#include "source_packet.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bans.h"
#include "hot_table.h"
#include "map_in_map.h"
#include "source_search.h"
#include "units.h"

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
	int parts = search_parts(s), fd, ret = 0;
	size_t size = sizeof(struct rl_state);
	void *values;

	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		size = sizeof(struct rl_slots);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		size = RL_LOG_SIZE(s->instance->info.log_depth);
	fd = search_map_open(s->instance, rule);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	values = calloc(parts, size);
	ret = values ? bpf_map_lookup_elem(fd, key, values) : -ENOMEM;
	if (!ret)
		ret = search_state(s, key, values, size, parts);
	free(values);
	close(fd);
	return ret == -ENOENT ? 0 : ret;
}

static int limit_lookup(struct search *s, const struct rule *rule, const struct rl_state_key *key)
{
	struct rl_rule numbers = search_numbers(s, rule);
	struct hot_table table;
	int ret;

	if (rule->limit.key == RL_KEY_RULE)
		return 0; /* shared by all keys */
	if (numbers.backend == RL_BACKEND_HOT || numbers.backend == RL_BACKEND_UNCONFIRMED) {
		ret = hot_open(s->instance, &table);
		if (ret)
			return ret;
		ret = hot_lookup(
			&table, &numbers, key,
			numbers.backend == RL_BACKEND_HOT ? search_hot : search_unconfirmed, s);
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
	struct search s = {
		.instance = instance, .policy = policy, .addr = dest ? packet->dst : packet->src};
	int ret = 0;

	search_begin(&s);
	*out = (struct source_entry){.rule = rule};
	if (rule->action == RL_ACTION_LIMIT) {
		out->key = key_of_packet(&s, rule, packet);
		ret = limit_lookup(&s, rule, &out->key);
	}
	if (!ret && s.count)
		*out = s.entries[0];
	s.addr = packet->src;
	out->ban_ns = ban_lookup(&s, &out->key);
	out->next_ns = out->ban_ns > out->allowance.wait_ns ? out->ban_ns : out->allowance.wait_ns;
	free(s.entries);
	return ret;
}
