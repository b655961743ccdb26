// SPDX-License-Identifier: GPL-2.0-only
/* The LRUs that hold the states of confirmed keys (bpf/limit/backend_unconfirmed.h): their
 * capacity, the rate at which they may fill, and the rules whose period is longer than that
 * protects. */
#include "kernel/maps/lru.h"

#include "algorithm/key_parts.h"
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"

#define LOGS_BYTES       (64u << 20)         /* capacity of the sliding logs, which are large */
#define LRU_MIN_PER_CPU  256u                /* an LRU keeps 128 free entries on every CPU */
#define CREATION_TURN_NS (4 * NS_PER_SECOND) /* new states need this long to fill an LRU */
#define STATE_LASTS_NS   (CREATION_TURN_NS - RL_CREATION_SAVE_NS)

uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru)
{
	uint32_t least = LRU_MIN_PER_CPU * info->cpus, fit;

	if (lru != RL_LRU_LOGS)
		return info->sources;
	fit = LOGS_BYTES / RL_LOG_SIZE(info->log_depth);
	fit = fit < info->sources ? fit : info->sources;
	return fit > least ? fit : least;
}

uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru)
{
	return CREATION_TURN_NS * info->cpus / lru_states(info, lru) + 1;
}

/* The rule with the longest period among those whose states are in the LRU (as unconfirmed_lru in
 * bpf/limit/backend_unconfirmed.h says) and that it outlasts, or NULL. These admit more if their
 * state is evicted. Not a warm-up, which restarts cold and admits less. Buckets are kept in the hot
 * table, and states of rules and fleets cannot be evicted by a flood. */
static const struct rule *rule_longest(const struct policy *policy, enum rl_lru lru)
{
	const struct rule *longest = NULL;

	policy_for_each (policy, rule) {
		const struct rl_limit *limit = &rule->limit;
		enum rl_lru of = parts_are_long(key_parts(limit)) ? RL_LRU_FLOWS : RL_LRU_SOURCES;

		if (limit->algorithm == RL_SLIDING_WINDOW)
			of = RL_LRU_WINDOWS;
		else if (limit->algorithm == RL_SLIDING_LOG)
			of = RL_LRU_LOGS;
		else if (limit->algorithm != RL_FIXED_WINDOW)
			continue;
		if (rule->action == RL_ACTION_LIMIT && limit->key != RL_KEY_RULE && !limit->fleet &&
		    of == lru && limit->period_ns > STATE_LASTS_NS &&
		    (!longest || limit->period_ns > longest->limit.period_ns))
			longest = rule;
	}
	return longest;
}

void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next)
{
	char text[RULE_TEXT_MAX], room[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	char lasts[32], period[32];
	struct policy_context ctx;

	if (instance->info.table != RL_TABLE_HOT || instance->clock_injected)
		return;
	instance_context(instance, &ctx);
	duration_print(lasts, sizeof(lasts), STATE_LASTS_NS);
	for (int lru = 0; lru < RL_LRU_COUNT; lru++) {
		const struct rule *before = rule_longest(current, lru);
		const struct rule *rule = rule_longest(next, lru);
		uint32_t states = lru_states(&instance->info, lru);

		if (!rule || (before && rule->limit.period_ns <= before->limit.period_ns))
			continue;
		rule_print(text, sizeof(text), rule, &ctx);
		number_print(room, states);
		number_print(most, (states * NS_PER_SECOND - 1) / CREATION_TURN_NS + 1);
		duration_print(period, sizeof(period), rule->limit.period_ns);
		note("%s: %s: there is room for %s states: a flood of %s or more returning sources "
		     "per second replaces them within %s, and a source that is silent for that "
		     "long is forgotten before its period of %s ends: attach with %s to withstand "
		     "a larger flood",
		     instance->device, text, room, most, lasts, period,
		     states < instance->info.sources ? "a smaller --log-depth" : "more --sources");
	}
}
