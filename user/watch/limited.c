// SPDX-License-Identifier: GPL-2.0-only
/* Finds sources at a limit in the hot table, from a sample of the packets that limits drop. */

#include "watch/limited.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/message.h"
#include "base/units.h"
#include "kernel/sets/sets.h"
#include "kernel/state/source.h"
#include "kernel/watch/watch.h"

#define RATE 2000u /* packets a second */

/* A key that a sampled packet was counted by. */
struct candidate {
	struct rl_state_key key;
	const struct rule *rule;
	struct rl_sample packet;
	UT_hash_handle hh;
};

struct sampling {
	const struct policy *policy;
	struct member_ask ask;
	struct candidate *list;
};

/* A limit of a rule or of a fleet has its state in a map with keys. Those of `share` say nothing of
 * a source by themselves. */
static bool is_hot(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.key != RL_KEY_RULE &&
	       !rule->limit.fleet && !rule->limit.share[0];
}

bool limited_is_hot(const struct instance *instance, const struct policy *policy,
		    const struct rule *only)
{
	bool hot = false;

	policy_for_each (policy, rule)
		hot = hot || ((!only || rule == only) && is_hot(rule));
	return hot && instance->info.table == RL_TABLE_HOT;
}

static const struct rule *rule_of(const struct sampling *s, const struct rl_sample *packet)
{
	policy_for_each (s->policy, rule)
		if (rule->counter_id == packet->counter_id)
			return is_hot(rule) ? rule : NULL;
	return NULL;
}

static int on_sample(void *arg, const struct sampled *sample)
{
	struct sampling *s = arg;
	const struct rule *rule = rule_of(s, &sample->packet);
	struct candidate *candidate = NULL;
	struct rl_state_key key;

	if (!rule)
		return 0;
	key = packet_key(rule, &sample->packet, &s->ask);
	HASH_FIND(hh, s->list, &key, sizeof(key), candidate);
	if (candidate)
		return 0;
	candidate = malloc(sizeof(*candidate));
	if (!candidate)
		return -ENOMEM;
	*candidate = (struct candidate){.key = key, .rule = rule, .packet = sample->packet};
	HASH_ADD(hh, s->list, key, sizeof(candidate->key), candidate);
	if (candidate->hh.tbl)
		return 0;
	free(candidate);
	return -ENOMEM;
}

static void sampling_clear(struct sampling *s)
{
	struct candidate *at, *next;

	HASH_ITER(hh, s->list, at, next)
	{
		hash_remove(s->list, at);
		free(at);
	}
}

/* A snapshot; keys whose state has vanished are skipped. */
static int states_look(const struct instance *instance, const struct sampling *s,
		       struct source_entry **out, size_t *count)
{
	struct instance now = *instance;
	struct source_entry *entries = calloc(HASH_COUNT(s->list) + 1, sizeof(*entries));
	size_t n = 0;
	int ret = entries ? 0 : -ENOMEM;

	now.clock_injected = true;
	now.now_ns = clock_ns(CLOCK_MONOTONIC);
	for (const struct candidate *at = s->list; !ret && at; at = at->hh.next) {
		ret = instance_packet_lookup(&now, s->policy, at->rule, &at->packet, &entries[n]);
		entries[n].ban_ns = 0; /* may be the source's, of another rule; next_ns has it */
		n += !ret && entries[n].has_state;
	}
	if (ret) {
		free(entries);
		return ret;
	}
	*out = entries;
	*count = n;
	return 0;
}

int limited_sample(const struct instance *instance, const struct policy *policy,
		   const struct rule *rule, uint32_t seconds, struct source_entry **out,
		   size_t *count)
{
	const struct watch_options options = {
		.reasons = 1u << RL_REASON_OVER | 1u << RL_REASON_CHALLENGED |
			   1u << RL_REASON_TRUNCATED,
		.rate = RATE,
		.counter_id = rule ? rule->counter_id : RL_WATCH_ANY,
	};
	struct sampling s = {.policy = policy, .ask.by_dest = instance->info.by_dest};
	struct set_live sets;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct watch *watch = NULL;
	int ret = watch_open(instance, &options, &watch);

	set_live_open(instance, &sets);
	s.ask.members = &sets.members;
	if (!ret)
		ret = watch_until(watch, end_ns, on_sample, &s);
	watch_close(watch);
	set_live_close(&sets);
	if (!ret) {
		ret = states_look(instance, &s, out, count);
		if (ret)
			fail("%s: reading the states failed: %s", instance->device, strerror(-ret));
	}
	sampling_clear(&s);
	return ret;
}
