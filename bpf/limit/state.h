/* SPDX-License-Identifier: GPL-2.0-only */
/* Where state lives: the only file that knows. A find that returns NULL is a fresh state; a create
 * that does is a map without room. Creating is BPF_NOEXIST and another look: when another CPU was
 * first, its state is the one that counts.
 */
#ifndef RLCTL_BPF_STATE_H
#define RLCTL_BPF_STATE_H

#include "limit/hot.h"
#include "maps.h"

/* The value of this counter_id in its chunk. */
static __always_inline void *chunk_find(void *chunks, __u32 counter_id)
{
	__u32 chunk = counter_id >> RL_CHUNK_SHIFT, index = counter_id & (RL_CHUNK_SLOTS - 1);
	void *map = bpf_map_lookup_elem(chunks, &chunk);

	return map ? bpf_map_lookup_elem(map, &index) : NULL;
}

/* The state that all packets of a rule share. */
static __always_inline struct rl_state *shared_find_at(__u32 counter_id)
{
	struct rl_shared_state *state = bpf_map_lookup_elem(&shared, &counter_id);

	if (__builtin_expect(!state, 0))
		state = chunk_find(&shared_chunks, counter_id);
	return state ? &state->state : NULL;
}

/* The state of an account; made by the first packet. NULL: there is no memory for it. */
static __always_inline struct rl_state *account_find(__u32 limit_id)
{
	struct rl_state none = {}, *state = bpf_map_lookup_elem(map_there(&accounts), &limit_id);

	if (state)
		return state;
	bpf_map_update_elem(map_there(&accounts), &limit_id, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(map_there(&accounts), &limit_id);
}

/* limit_id: with has_accounts; an account has its state by that. */
static __always_inline struct rl_state *shared_find_by(__u32 counter_id, __u32 limit_id)
{
	if (EXTENDED && config.has_accounts && limit_id & RL_ACCOUNT_LIMIT)
		return account_find(limit_id);
	return shared_find_at(counter_id);
}

static __always_inline struct rl_state *shared_find(const struct rl_rule *rule)
{
	return shared_find_by(rule->counter_id, rule->limit_id);
}

/* Token bucket, leaky bucket, fixed window and warm-up. */
static __always_inline struct rl_state *state_find(const struct rl_rule *rule,
						   const struct rl_state_key *key)
{
	if (rule->limit.key == RL_KEY_RULE)
		return shared_find(rule);
	if (!key_is_long(rule))
		return bpf_map_lookup_elem(&sources, key);
	return config.has_flows ? bpf_map_lookup_elem(map_there(&flows), key) : NULL;
}

static __always_inline struct rl_state *state_create(const struct rl_rule *rule,
						     const struct rl_state_key *key)
{
	struct rl_state none = {};

	if (rule->limit.key == RL_KEY_RULE)
		return NULL;
	if (!key_is_long(rule)) {
		bpf_map_update_elem(&sources, key, &none, BPF_NOEXIST);
		return bpf_map_lookup_elem(&sources, key);
	}
	if (!config.has_flows)
		return NULL;
	bpf_map_update_elem(map_there(&flows), key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(map_there(&flows), key);
}

/* Sliding windows, of any key. */
static __always_inline struct rl_slots *slots_find(const struct rl_state_key *key)
{
	return config.has_windows ? bpf_map_lookup_elem(map_there(&windows), key) : NULL;
}

static __always_inline struct rl_slots *slots_create(const struct rl_state_key *key)
{
	void *zeros = only(&fresh);

	if (!config.has_windows || !zeros)
		return NULL;
	bpf_map_update_elem(map_there(&windows), key, zeros, BPF_NOEXIST);
	return bpf_map_lookup_elem(map_there(&windows), key);
}

/* Sliding logs, of any key. */
static __always_inline struct rl_log *log_find(const struct rl_state_key *key)
{
	return config.has_logs ? bpf_map_lookup_elem(map_there(&logs), key) : NULL;
}

static __always_inline struct rl_log *log_create(const struct rl_state_key *key)
{
	void *zeros = only(&fresh);

	if (!config.has_logs || !zeros)
		return NULL;
	bpf_map_update_elem(map_there(&logs), key, zeros, BPF_NOEXIST);
	return bpf_map_lookup_elem(map_there(&logs), key);
}

#endif
