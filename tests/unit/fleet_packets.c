// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for what bpf/limit/backend_fleet.h includes, by the guards that these headers have:
 * maps of one entry, which their names stand for.
 */
#include "fleet_packets.h"

#include <stddef.h>

#include "algorithm/fixed_window.h"
#include "limit/outcome.h"

#define RLCTL_BPF_CLOCK_H
#define RLCTL_BPF_KEY_H
#define RLCTL_BPF_STATE_H
#define RLCTL_BPF_BACKEND_LRU_H
#define BPF_NOEXIST      1
#define BPF_RB_NO_WAKEUP 1
#define __noinline       static __attribute__((unused))
#define map_there(map)   (map)
#ifndef __always_inline
#define __always_inline inline
#endif

struct packet {
	__u64 amount, now_ns;
	struct {
		__u64 window;
	} receipt;
};

static struct fleet_packets *here;
static int fleet_limits, fleet_grants, fleet_keys, fleet_events;
static const struct rl_config config = {.has_fleet = true};

static const void *entry_find(const void *map)
{
	if (map == &fleet_limits)
		return here->limit;
	if (map == &fleet_grants)
		return here->has_grant ? &here->grant : NULL;
	return here->has_key ? &here->key : NULL;
}

#define bpf_map_lookup_elem(map, key) ((void)(key), (void *)entry_find(map))
#define bpf_map_update_elem(map, key, value, flags) \
	((void)(map), (void)(key), here->key = *(value), here->has_key = true)
#define bpf_ringbuf_output(map, key, size, flags) ((void)(map), here->asked = true)

static __u64 clock_precise(const struct packet *p)
{
	return p->now_ns;
}

static void key_build(struct rl_state_key *key, const struct packet *p, const struct rl_rule *rule)
{
	(void)p;
	*key = (struct rl_state_key){.limit_id = rule->limit_id};
}

static __u64 limit_amount(const struct packet *p, const struct rl_rule *rule)
{
	(void)rule;
	return p->amount;
}

static struct rl_state *state_find(const struct rl_rule *rule, const struct rl_state_key *key)
{
	(void)rule, (void)key;
	return &here->window;
}

#define state_create state_find

/* The limit's ordinary state, which holds the whole limit: it admits. */
#define lru_admits(p, rule, now_ns)  ((void)(now_ns), true)
#define lru_consume(p, rule, now_ns) ((void)(now_ns), OUTCOME_WITHIN)
#define lru_refund(p, rule)          ((void)0)

static bool window_consume(const struct rl_window *window, struct rl_state *state, __u64 now_ns,
			   __u64 amount, __u64 *taken)
{
	return fixed_window_consume(window, state, now_ns, amount, taken);
}

#include "limit/backend_fleet.h"

/* In the order of bpf/limit/limiter.h. */
bool fleet_packet_passes(struct fleet_packets *maps, const struct rl_rule *rule, __u64 amount,
			 __u64 now_ns)
{
	struct packet p = {.amount = amount, .now_ns = now_ns};

	here = maps;
	return fleet_admits(&p, rule, now_ns) && fleet_consume(&p, rule, now_ns) == OUTCOME_WITHIN;
}
