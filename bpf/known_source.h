/* SPDX-License-Identifier: GPL-2.0-only */
/* Known sources, for `new-source`: sources that sent a packet which passed. In the hot table a slot
 * under no limit, whose word is until when; without it an entry of the sources.
 *
 * In front of those slots is a filter of a few bits for each source (algorithm/known_filter.h),
 * small enough for a core's own cache: most strangers are known to be unknown without their line of
 * the hot table. Bits are set before the slot is, by the same reading of the clock, so that a known
 * source always has its own. The filter is made when a policy first uses `new-source`
 * (user/kernel/known_filter.c); without it the slots answer.
 */
#ifndef RLCTL_BPF_KNOWN_SOURCE_H
#define RLCTL_BPF_KNOWN_SOURCE_H

#include "algorithm/known_filter.h"
#include "hot.h"
#include "key.h"
#include "maps.h"
#include "state.h"

#define KNOWN_GRAINS         (KNOWN_NS << RL_GRAIN_SHIFT)
#define KNOWN_REFRESH_GRAINS (1ULL * 1000000000 << RL_GRAIN_SHIFT)

const volatile __u32 known_mask = 0; /* sets of the filter - 1; set at attach */

static __always_inline __u64 known_address(const struct packet *p)
{
	return goes_by_dest ? hot_word(p, p->src) : p->lookup_hash;
}

/* NULL where there is no filter. */
static __always_inline struct rl_known_set *known_find(__u64 address)
{
	void *filter = only(&known_filter);
	struct rl_known_set *sets = filter ? only(filter) : NULL;

	return sets ? &sets[known_index(address, known_mask)] : NULL;
}

/* Does the filter say that it is not known? */
static __always_inline bool is_stranger(__u64 address)
{
	const struct rl_known_set *known = known_find(address);
	__u64 bit = known_bit(address);

	if (!known)
		return false;
	return !known_has(known, bit) || !known_may(known, bit, known_epoch(clock_tick()));
}

static __always_inline bool hot_source_is_known(const struct packet *p)
{
	__u64 address = known_address(p);
	struct rl_hot_slot *slot;
	struct rl_hot_set *set;
	struct hot_key key;

	if (is_stranger(address))
		return false;
	key = hot_key_of(address, 0, 0, hot_mask);
	slot = hot_look(&key, &set);
	return slot && hot_debt(slot->word, gcra_now(clock_tick()));
}

/* Written at most once a second for each source. The source heard last is kept longest. */
static __always_inline void hot_source_remember(const struct packet *p)
{
	__u64 address = known_address(p), now_ns = clock_tick(), now = gcra_now(now_ns);
	struct hot_key key = hot_key_of(address, 0, 0, hot_mask);
	struct rl_known_set *known;
	struct rl_hot_set *set;
	struct rl_hot_slot *slot = hot_look(&key, &set);

	if (!set || (slot && hot_debt(slot->word, now) >= KNOWN_GRAINS - KNOWN_REFRESH_GRAINS))
		return;
	known = known_find(address);
	if (known)
		known_put(known, known_bit(address), known_epoch(now_ns));
	if (slot)
		hot_set(slot, key.fingerprint, now + KNOWN_GRAINS);
	else
		hot_insert(set, key.fingerprint, now + KNOWN_GRAINS, now);
}

/* Is the packet's source known: did a packet of it pass before? Apart, so that other policies do
 * not pay for its registers. */
__noinline int source_is_known(const struct packet *p)
{
	struct rl_state_key key;

	if (!p)
		return 0;
	if (hot_mask)
		return hot_source_is_known(p);
	key_source(&key, p);
	return !!bpf_map_lookup_elem(&sources, &key);
}

__noinline int source_remember(const struct packet *p)
{
	struct rl_state none = {};
	struct rl_state_key key;

	if (!p)
		return 0;
	if (hot_mask) {
		hot_source_remember(p);
		return 0;
	}
	key_source(&key, p);
	bpf_map_update_elem(&sources, &key, &none, BPF_NOEXIST);
	return 0;
}

#endif
