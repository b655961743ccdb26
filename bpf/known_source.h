/* SPDX-License-Identifier: GPL-2.0-only */
/* Known sources, for `new-source`: sources that sent a packet which passed. In the hot table a slot
 * under no limit, whose word is until when; without it an entry of the sources.
 */
#ifndef RLCTL_BPF_KNOWN_SOURCE_H
#define RLCTL_BPF_KNOWN_SOURCE_H

#include "hot.h"
#include "key.h"
#include "maps.h"

#define KNOWN_GRAINS         (300ULL * 1000000000 << RL_GRAIN_SHIFT)
#define KNOWN_REFRESH_GRAINS (1ULL * 1000000000 << RL_GRAIN_SHIFT)

static __always_inline struct hot_key hot_source_key(const struct packet *p)
{
	return hot_key_of(goes_by_dest ? hot_word(p, p->src) : p->lookup_hash, 0, 0, hot_mask);
}

static __always_inline bool hot_source_is_known(const struct packet *p)
{
	struct hot_key key = hot_source_key(p);
	struct rl_hot_set *set;
	struct rl_hot_slot *slot = hot_look(&key, &set);

	return slot && hot_debt(slot->word, gcra_now(clock_tick()));
}

/* Written at most once a second for each source. The source heard last is kept longest. */
static __always_inline void hot_source_remember(const struct packet *p)
{
	struct hot_key key = hot_source_key(p);
	struct rl_hot_set *set;
	struct rl_hot_slot *slot = hot_look(&key, &set);
	__u64 now = gcra_now(clock_tick());

	if (slot && hot_debt(slot->word, now) < KNOWN_GRAINS - KNOWN_REFRESH_GRAINS)
		hot_set(slot, key.fingerprint, now + KNOWN_GRAINS);
	else if (set && !slot)
		hot_insert(set, key.fingerprint, now + KNOWN_GRAINS, now);
}

/* Is the packet's source known: did a packet of it pass before? */
static __always_inline bool source_is_known(const struct packet *p)
{
	struct rl_state_key key;

	if (hot_mask)
		return hot_source_is_known(p);
	key_source(&key, p);
	return bpf_map_lookup_elem(&sources, &key);
}

static __always_inline void source_remember(const struct packet *p)
{
	struct rl_state none = {};
	struct rl_state_key key;

	if (hot_mask)
		return hot_source_remember(p);
	key_source(&key, p);
	bpf_map_update_elem(&sources, &key, &none, BPF_NOEXIST);
}

#endif
