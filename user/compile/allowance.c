// SPDX-License-Identifier: GPL-2.0-only
/* Computes what a state still admits. */
#include "compile/allowance.h"

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/hot_key.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "algorithm/warm_up.h"

static __u64 grains_to_ns(__u64 grains)
{
	return (grains + (1 << RL_GRAIN_SHIFT) - 1) >> RL_GRAIN_SHIFT;
}

/* Grains of the bucket that are for others: `keep`. */
static __u64 bucket_reserve(const struct rl_rule *rule)
{
	return rule->backend == RL_BACKEND_PARTS ? rule->parts.reserve : 0;
}

static struct allowance bucket_allowance(const struct rl_rule *rule, const struct rl_state *state,
					 __u64 now_ns)
{
	const struct rl_gcra *g = &rule->gcra;
	__u64 size = (rule->limit.size - (bucket_reserve(rule) ? rule->limit.keep : 0)) /
		     (rule->limit.unit == RL_BITS ? 8 : 1);
	__u64 level = gcra_level(g, state->word, gcra_now(now_ns));
	__u64 one = (g->cost >> g->cost_shift) + 1, most = g->capacity - bucket_reserve(rule);
	unsigned __int128 room = (unsigned __int128)(level < most ? most - level : 0)
				 << g->cost_shift;
	struct allowance a = {.remaining = g->cost ? room / g->cost : 0};

	if (a.remaining > size)
		a.remaining = size;
	if (!a.remaining && level + one > most)
		a.wait_ns = grains_to_ns(level + one - most);
	return a;
}

static bool bucket_admits(const struct rl_rule *rule, const struct rl_state *state, __u64 now_ns,
			  __u64 amount)
{
	const struct rl_gcra *g = &rule->gcra;
	__u64 now = gcra_now(now_ns), next;

	return gcra_admits(g, state->word, now, amount, &next) &&
	       next - now <= g->capacity - bucket_reserve(rule);
}

static struct allowance window_allowance(const struct rl_rule *rule, const void *state,
					 __u64 now_ns, __u32 depth)
{
	const struct rl_window *w = &rule->window;
	struct rl_slots *slots = (struct rl_slots *)state;
	struct rl_log *log = (struct rl_log *)state;
	__u64 slot, end = now_ns;
	struct allowance a = {.remaining = w->amount};

	switch (rule->limit.algorithm) {
	case RL_FIXED_WINDOW:
		a.remaining -= fixed_window_sum(w, state, now_ns);
		end = a.remaining ? end : fixed_window_end(w, state);
		break;
	case RL_SLIDING_WINDOW:
		slot = sliding_window_slot(w, now_ns);
		a.remaining -= sliding_window_sum(w, slots, slot);
		end = a.remaining ? end : sliding_window_end(w, slots, slot);
		break;
	default:
		for (__u64 i = 1; i <= w->amount; i++)
			if (sliding_log_recent(w, *sliding_log_place(log, log->head - i, depth),
					       now_ns))
				a.remaining--;
		end = a.remaining ? end : sliding_log_end(w, log, depth);
	}
	a.wait_ns = end - now_ns;
	return a;
}

/* Counted one by one, as each costs another; WARM_UP_MOST at most. */
static struct allowance warm_up_allowance(const struct rl_rule *rule, const struct rl_state *state,
					  __u64 now_ns)
{
	struct rl_state copy = *state;
	struct allowance a = {0};
	__u64 taken;

	while (a.remaining < WARM_UP_MOST &&
	       warm_up_consume(&rule->warm_up, &copy, gcra_now(now_ns), 1, &taken))
		a.remaining++;
	if (!a.remaining)
		a.wait_ns = grains_to_ns(state->word - gcra_now(now_ns));
	return a;
}

struct allowance allowance_of(const struct rl_rule *rule, const void *state, __u64 now_ns,
			      __u32 log_depth)
{
	switch (rule->limit.algorithm) {
	case RL_FIXED_WINDOW:
	case RL_SLIDING_WINDOW:
	case RL_SLIDING_LOG:
		return window_allowance(rule, state, now_ns, log_depth);
	case RL_WARM_UP:
		return warm_up_allowance(rule, state, now_ns);
	default:
		return bucket_allowance(rule, state, now_ns);
	}
}

bool state_admits(const struct rl_rule *rule, const void *state, __u64 now_ns, __u32 log_depth,
		  __u64 amount)
{
	const struct rl_state *word = state;

	switch (rule->limit.algorithm) {
	case RL_FIXED_WINDOW:
		return fixed_window_admits(&rule->window, word, now_ns, amount);
	case RL_SLIDING_WINDOW:
		return sliding_window_admits(&rule->window, (struct rl_slots *)state, now_ns,
					     amount);
	case RL_SLIDING_LOG:
		return sliding_log_admits(&rule->window, (struct rl_log *)state, now_ns, log_depth,
					  amount);
	case RL_WARM_UP:
		return warm_up_admits(&rule->warm_up, word, gcra_now(now_ns));
	default:
		return bucket_admits(rule, word, now_ns, amount);
	}
}

struct allowance allowance_of_unconfirmed(const struct rl_rule *rule,
					  const struct rl_hot_slot *slot, __u64 now_ns)
{
	bool paced = hot_kind(slot->fingerprint) == HOT_SEEN_AGAIN,
	     one = rule->limit.algorithm == RL_WARM_UP;
	unsigned __int128 n = rule->window.amount;
	__u64 least = paced ? rule->unconfirmed.pace : rule->unconfirmed.wait;
	__u64 elapsed = rule->unconfirmed.span - (slot->word - gcra_now(now_ns));

	if (elapsed < least)
		return (struct allowance){.wait_ns = grains_to_ns(least - elapsed)};
	if (one)
		return (struct allowance){.remaining = 1};
	return (struct allowance){.remaining = paced ? n * least / rule->unconfirmed.span : n - 1};
}
