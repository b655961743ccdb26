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

/* As unconfirmed_lru in bpf/limit/backend_unconfirmed.h. */
static enum rl_lru lru_of(const struct rl_limit *limit)
{
	if (limit->algorithm == RL_SLIDING_WINDOW)
		return RL_LRU_WINDOWS;
	if (limit->algorithm == RL_SLIDING_LOG)
		return RL_LRU_LOGS;
	return parts_are_long(key_parts(limit)) ? RL_LRU_FLOWS : RL_LRU_SOURCES;
}

/* Does the limit admit more if its state is evicted? Not a warm-up, which restarts cold and admits
 * less. Buckets are kept in the hot table, and states of rules and fleets cannot be evicted by a
 * flood. */
static bool loses(const struct rule *rule, enum rl_lru lru)
{
	const struct rl_limit *limit = &rule->limit;
	bool counts = limit->algorithm == RL_FIXED_WINDOW ||
		      limit->algorithm == RL_SLIDING_WINDOW || limit->algorithm == RL_SLIDING_LOG;

	return rule->action == RL_ACTION_LIMIT && counts && limit->key != RL_KEY_RULE &&
	       !limit->fleet && lru_of(limit) == lru && limit->period_ns > STATE_LASTS_NS;
}

/* The rule with the longest period among those in the LRU that it outlasts, or NULL. */
static const struct rule *rule_longest(const struct policy *policy, enum rl_lru lru)
{
	const struct rule *longest = NULL;

	policy_for_each (policy, rule)
		if (loses(rule, lru) &&
		    (!longest || rule->limit.period_ns > longest->limit.period_ns))
			longest = rule;
	return longest;
}

static void lru_note(const struct instance *instance, enum rl_lru lru, const struct rule *rule)
{
	uint32_t states = lru_states(&instance->info, lru);
	char text[RULE_TEXT_MAX], room[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	char lasts[32], period[32];
	struct policy_context ctx;

	instance_context(instance, &ctx);
	rule_print(text, sizeof(text), rule, &ctx);
	number_print(room, states);
	number_print(most, (states * NS_PER_SECOND - 1) / CREATION_TURN_NS + 1);
	duration_print(lasts, sizeof(lasts), STATE_LASTS_NS);
	duration_print(period, sizeof(period), rule->limit.period_ns);
	note("%s: %s: there is room for %s states: a flood of %s or more returning sources per "
	     "second replaces them within %s, and a source that is silent for that long is "
	     "forgotten before its period of %s ends: attach with %s to withstand a larger flood",
	     instance->device, text, room, most, lasts, period,
	     states < instance->info.sources ? "a smaller --log-depth" : "more --sources");
}

void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next)
{
	if (instance->info.table != RL_TABLE_HOT || instance->clock_injected)
		return;
	for (int lru = 0; lru < RL_LRU_COUNT; lru++) {
		const struct rule *before = rule_longest(current, lru);
		const struct rule *rule = rule_longest(next, lru);

		if (rule && (!before || rule->limit.period_ns > before->limit.period_ns))
			lru_note(instance, lru, rule);
	}
}
