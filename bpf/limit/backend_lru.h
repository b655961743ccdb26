/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend LRU: limits of any algorithm, each key with a state of its own in an LRU map. Which map
 * that is, state.h knows; the algorithms are in algorithm/.
 */
#ifndef RLCTL_BPF_BACKEND_LRU_H
#define RLCTL_BPF_BACKEND_LRU_H

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "algorithm/warm_up.h"
#include "limit/key.h"
#include "limit/outcome.h"
#include "limit/pace.h"
#include "limit/state.h"

/* ---- sliding logs: an entry in the ring for each packet on the wire (algorithm/sliding_log.h) */

/* Segments that a sliding log takes at once: 64 KB in packets of 512 bytes. */
#define LOG_MANY 128

static __always_inline bool log_admits(const struct rl_rule *rule, const struct rl_state_key *key,
				       __u64 now_ns, __u64 amount, __u64 *until_ns)
{
	struct rl_log *log = log_find(key);

	if (amount > rule->window.amount)
		return false;
	if (!log || sliding_log_admits(&rule->window, log, now_ns, config.log_depth, amount))
		return true;
	*until_ns = sliding_log_end(&rule->window, log, config.log_depth);
	return false;
}

__noinline int log_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_state_key key;
	struct rl_log *log;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	log = log_find(&key);
	if (!log)
		log = log_create(&key);
	if (!log)
		return OUTCOME_NO_ROOM;
	return sliding_log_consume(&rule->window, log, now_ns, config.log_depth, &p->receipt.entry)
		       ? OUTCOME_WITHIN
		       : OUTCOME_OVER;
}

/* Gives back one entry. */
__noinline int log_refund_one(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_log *log;

	if (!p || !rule)
		return 0;
	key_build(&key, p, rule);
	log = log_find(&key);
	if (log)
		sliding_log_refund(&rule->window, log, config.log_depth, p->receipt.entry);
	return 0;
}

/* Gives back the newest of as many entries as the packet is on the wire. Those of other CPUs that
 * came between them go instead: the sum is the same. */
__noinline int log_refund(struct packet *p, const struct rl_rule *rule, __u32 count)
{
	if (!p || !rule)
		return 0;
	for (__u32 i = 0; i < LOG_MANY && i < count; i++) {
		log_refund_one(p, rule);
		p->receipt.entry--;
	}
	return 0;
}

/* An entry for each packet on the wire, or none. */
__noinline int log_consume_many(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	int outcome = OUTCOME_WITHIN;
	__u32 i;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	if (p->segments > rule->window.amount || p->segments > LOG_MANY)
		return OUTCOME_OVER;
	for (i = 0; i < LOG_MANY && i < p->segments; i++) {
		outcome = log_consume(p, rule, now_ns);
		if (outcome != OUTCOME_WITHIN)
			break;
	}
	if (outcome != OUTCOME_WITHIN && i)
		log_refund(p, rule, i);
	return outcome;
}

/* ---- would it be admitted? *until_ns: until when a refused key is refused, if that is certain */

static __always_inline bool state_admits(const struct rl_rule *rule, const struct rl_state_key *key,
					 __u64 now_ns, __u64 amount, __u64 *until_ns)
{
	struct rl_state fresh = {}, *state = state_find(rule, key);
	__u64 next;

	if (!state)
		state = &fresh;
	if (rule->limit.algorithm == RL_FIXED_WINDOW) {
		*until_ns = fixed_window_end(&rule->window, state);
		return fixed_window_admits(&rule->window, state, now_ns, amount);
	}
	if (rule->limit.algorithm == RL_WARM_UP) {
		*until_ns = state->word >> RL_GRAIN_SHIFT;
		return warm_up_admits(&rule->warm_up, state, gcra_now(now_ns));
	}
	gcra_settle(&rule->gcra, &state->word, gcra_now(now_ns));
	return gcra_admits(&rule->gcra, state->word, gcra_now(now_ns), amount, &next);
}

static __always_inline bool slots_admit(const struct rl_rule *rule, const struct rl_state_key *key,
					__u64 now_ns, __u64 amount, __u64 *until_ns)
{
	const struct rl_window *w = &rule->window;
	struct rl_slots *slots = slots_find(key);

	if (!slots || sliding_window_admits(w, slots, now_ns, amount))
		return amount <= w->amount;
	*until_ns = sliding_window_end(w, slots, sliding_window_slot(w, now_ns));
	return false;
}

__noinline int lru_admits_until(struct packet *p, const struct rl_rule *rule, __u64 now_ns,
				__u64 *until_ns)
{
	struct rl_state_key key;
	__u64 amount;

	if (!p || !rule || !until_ns)
		return 0;
	key_build(&key, p, rule);
	amount = limit_amount(p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_admit(rule, &key, now_ns, amount, until_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_admits(rule, &key, now_ns, amount, until_ns);
	return state_admits(rule, &key, now_ns, amount, until_ns);
}

static __always_inline bool lru_admits(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	__u64 until_ns = 0;

	return lru_admits_until(p, rule, now_ns, &until_ns);
}

/* ---- consume: a state is made where there is none. enum outcome */

/* fixed_window_consume, of its own so that it is verified once. */
__noinline int window_consume(const struct rl_window *window, struct rl_state *state, __u64 now_ns,
			      __u64 amount, __u64 *taken)
{
	return window && state && taken &&
	       fixed_window_consume(window, state, now_ns, amount, taken);
}

__noinline int state_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_state_key key;
	struct rl_state *state;
	bool taken;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	state = state_find(rule, &key);
	if (!state)
		state = state_create(rule, &key);
	if (!state)
		return OUTCOME_NO_ROOM;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		taken = window_consume(&rule->window, state, now_ns, limit_amount(p, rule),
				       &p->receipt.window);
	else if (rule->limit.algorithm == RL_WARM_UP)
		taken = warm_up_consume(&rule->warm_up, state, gcra_now(now_ns), packet_count(p),
					&p->receipt.grains);
	else
		taken = bucket_consume(p, rule, &state->word, gcra_now(now_ns),
				       limit_amount(p, rule));
	return taken ? OUTCOME_WITHIN : OUTCOME_OVER;
}

__noinline int slots_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_state_key key;
	struct rl_slots *slots;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	slots = slots_find(&key);
	if (!slots)
		slots = slots_create(&key);
	if (!slots)
		return OUTCOME_NO_ROOM;
	return sliding_window_consume(&rule->window, slots, now_ns, limit_amount(p, rule),
				      &p->receipt.slot)
		       ? OUTCOME_WITHIN
		       : OUTCOME_OVER;
}

static __always_inline int lru_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_consume(p, rule, now_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG && packet_count(p) > 1)
		return log_consume_many(p, rule, now_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_consume(p, rule, now_ns);
	return state_consume(p, rule, now_ns);
}

/* Has the key a state? */
__noinline int lru_holds(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	key_build(&key, p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_find(&key) != NULL;
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_find(&key) != NULL;
	return state_find(rule, &key) != NULL;
}

/* ---- refund */

static __always_inline void state_refund(struct packet *p, const struct rl_rule *rule,
					 const struct rl_state_key *key)
{
	struct rl_state *state = state_find(rule, key);

	if (!state)
		return;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		fixed_window_refund(state, p->receipt.window);
	else if (rule->limit.algorithm == RL_WARM_UP)
		warm_up_refund(state, p->receipt.grains, packet_count(p));
	else
		gcra_refund(&state->word, p->receipt.grains);
}

/* The LRU may have dropped the state since: a newer one of the same key is then given back at most
 * the one packet. */
__noinline int lru_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_slots *slots;

	if (!p || !rule)
		return 0;
	if (rule->limit.algorithm == RL_SLIDING_LOG) {
		log_refund(p, rule, packet_count(p));
		return 0;
	}
	key_build(&key, p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW) {
		slots = slots_find(&key);
		if (slots)
			sliding_window_refund(&rule->window, slots, p->receipt.slot,
					      limit_amount(p, rule));
	} else {
		state_refund(p, rule, &key);
	}
	return 0;
}

#endif
