/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits by a sliding log, of whatever key: one entry in its ring for each packet on the wire. What
 * the ring does is in algorithm/sliding_log.h.
 */
#pragma once

#include "algorithm/sliding_log.h"
#include "limit/key.h"
#include "limit/outcome.h"
#include "limit/state.h"

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
