/* SPDX-License-Identifier: GPL-2.0-only */
/* Holds a packet to one limit, by the backend that its rule names: three switches, and what follows
 * from a refusal. All limits of a packet: commit.h.
 */
#pragma once

#include "limit/backend_connections.h"
#include "limit/backend_fleet.h"
#include "limit/backend_hot.h"
#include "limit/backend_lru.h"
#include "limit/backend_parts.h"
#include "limit/backend_shared.h"
#include "limit/backend_unconfirmed.h"
#include "limit/ban.h"
#include "limit/outcome.h"
#include "limit/refusal.h"

/* Apart: the verifier follows it once, and not for each limit of a packet. */
__noinline int limit_admits_apart(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (!config.keeps_states || !p || !rule)
		return 0;
	switch (rule->backend) {
	case RL_BACKEND_UNCONFIRMED:
		return unconfirmed_admits(p, rule, now_ns);
	case RL_BACKEND_FLEET:
		return fleet_admits(p, rule, now_ns);
	}
	return lru_admits(p, rule, now_ns);
}

/* In a policy with a limit that bans, where each limit is asked in its turn; elsewhere
 * buckets_apply (commit.h) does. Apart, because others that are peeked at there need the stack for
 * their calls. */
__noinline int hot_admits_apart(struct packet *p, const struct rl_rule *rule, struct plan *plan)
{
	if (!p || !rule || !plan)
		return 0;
	return hot_admits(p, rule, clock_of(p, rule), limit_amount(p, rule), plan);
}

__noinline int shared_admits_apart(struct packet *p, const struct rl_rule *rule, struct plan *plan)
{
	if (!p || !rule || !plan)
		return 0;
	return shared_admits(rule, clock_of(p, rule), limit_amount(p, rule), plan);
}

static __always_inline int limit_admits(struct packet *p, const struct rl_rule *rule,
					struct plan *plan)
{
	switch (rule->backend) {
	case RL_BACKEND_HOT:
		return hot_admits_apart(p, rule, plan);
	case RL_BACKEND_SHARED:
		return shared_admits_apart(p, rule, plan);
	}
	if (parts_are_of(rule))
		return parts_admits(p, rule);
	if (connections_are_of(rule))
		return connections_admits(p, rule);
	return config.keeps_states ? limit_admits_apart(p, rule, clock_of(p, rule)) : 0;
}

static __always_inline bool may_ban(const struct rl_rule *rule)
{
	return config.keeps_states && rule->flags & RL_RULE_BAN;
}

/* Is the key banned under this limit? */
__noinline int limit_bans(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!config.keeps_states || !p || !rule)
		return 0;
	key_build(&key, p, rule);
	return ban_holds(&key);
}

/* Consumes nothing; writes no state but a bucket's that is settled after its numbers changed, and
 * what the hot table knows of refusals. May leave a plan. enum outcome. */
static __always_inline int limit_peek(struct packet *p, const struct rl_rule *rule,
				      struct plan *plan)
{
	if (may_ban(rule) && limit_bans(p, rule))
		return OUTCOME_BANNED;
	return limit_admits(p, rule, plan) ? OUTCOME_WITHIN : OUTCOME_OVER;
}

/* Consumes as a peek has planned; false where that is to be asked again. */
static __always_inline bool limit_commit(const struct plan *plan)
{
	switch (plan->kind) {
	case PLAN_HOT:
		return hot_commit(plan);
	case PLAN_SHARED:
		return shared_commit(plan);
	case PLAN_BATCH:
		return batch_commit(plan);
	}
	return false;
}

/* Consumes what the packet costs; p->receipt is then what limit_refund gives back. enum outcome. */
__noinline int limit_consume(struct packet *p, const struct rl_rule *rule)
{
	__u64 now_ns;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	if (may_ban(rule) && limit_bans(p, rule))
		return OUTCOME_BANNED;
	now_ns = clock_of(p, rule);
	switch (rule->backend) {
	case RL_BACKEND_HOT:
		return hot_consume(p, rule, now_ns);
	case RL_BACKEND_SHARED:
		return shared_consume(p, rule, now_ns, limit_amount(p, rule));
	}
	if (parts_are_of(rule))
		return parts_consume(p, rule);
	if (connections_are_of(rule))
		return connections_admits(p, rule) ? OUTCOME_WITHIN : OUTCOME_OVER;
	if (!config.keeps_states)
		return OUTCOME_NO_ROOM;
	switch (rule->backend) {
	case RL_BACKEND_UNCONFIRMED:
		return unconfirmed_consume(p, rule, now_ns);
	case RL_BACKEND_FLEET:
		return fleet_consume(p, rule, now_ns);
	}
	return lru_consume(p, rule, now_ns);
}

static __always_inline void state_of_limit_refund(struct packet *p, const struct rl_rule *rule)
{
	switch (rule->backend) {
	case RL_BACKEND_UNCONFIRMED:
		unconfirmed_refund(p, rule);
		break;
	case RL_BACKEND_FLEET:
		fleet_refund(p, rule);
		break;
	default:
		lru_refund(p, rule);
	}
}

__noinline int limit_refund(struct packet *p, const struct rl_rule *rule)
{
	if (!p || !rule || connections_are_of(rule))
		return 0;
	switch (rule->backend) {
	case RL_BACKEND_HOT:
		hot_refund(p, rule);
		break;
	case RL_BACKEND_SHARED:
	case RL_BACKEND_PARTS: /* which has no batches */
		shared_refund(p, rule);
		break;
	default:
		if (config.keeps_states)
			state_of_limit_refund(p, rule);
	}
	refusal_clear(p, rule);
	return 0;
}

/* ---- what follows from a refusal */

/* Caches it: RL_RULE_REFUSAL_CACHED, of which the hot table holds the state. */
static __always_inline void limit_refusal_keep(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	__u64 now_ns = clock_tick(), now = gcra_now(now_ns), word, until;

	if (!slot)
		return;
	word = READ_ONCE(slot->word);
	until = config.keeps_states && rule->backend == RL_BACKEND_UNCONFIRMED
			? unconfirmed_refused_until(rule, READ_ONCE(slot->fingerprint), word, now)
			: hot_refused_until(rule, word, now);
	if (rule->clock == RL_CLOCK_PRECISE)
		until -= 2 * gcra_now(config.clock_tick_ns);
	if ((__s64)(until - now) <= 0)
		return;
	refusal_put(p, rule, (until - now) >> RL_GRAIN_SHIFT, now_ns);
	full_barrier(&p->receipt.grains);
	if (READ_ONCE(slot->word) != word || !hot_is(slot, key.fingerprint))
		refusal_end(p, rule);
}

/* A ban of the key, or of the packet's source from everything, if the limit says so; or a cached
 * refusal, if it may have one. */
__noinline int limit_refused(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	if (may_ban(rule)) {
		key_build(&key, p, rule);
		if (rule->limit.ban_source)
			key_source(&key, p);
		ban_put(&key, clock_tick() + rule->limit.ban_ns);
	} else if (packet_count(p) == 1) {
		limit_refusal_keep(p, rule);
	}
	return 0;
}
