/* SPDX-License-Identifier: GPL-2.0-only */
/* Bans: who exceeded a limit with `over ban` is refused until a time, by the tick clock. A ban does
 * not extend itself; the map is of its own, so that no flood of strangers pushes one out.
 */
#ifndef RLCTL_BAN_H
#define RLCTL_BAN_H

#include "clock.h"
#include "state.h"

static __always_inline bool ban_holds(const struct rl_state_key *key)
{
	__u64 *until = bpf_map_lookup_elem(&bans, key);

	return until && *until > clock_tick();
}

/* Bans the key of this limit, or the packet's source from everything. */
static __always_inline void ban_start(const struct packet *p, const struct rl_rule *rule,
				      struct rl_state_key *key)
{
	__u64 until = clock_tick() + rule->limit.ban_ns;

	if (rule->limit.ban_source)
		key_source(key, p);
	bpf_map_update_elem(&bans, key, &until, BPF_ANY);
}

static __always_inline bool source_is_banned(const struct packet *p)
{
	struct rl_state_key key;

	key_source(&key, p);
	return ban_holds(&key);
}

#endif
