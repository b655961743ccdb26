// SPDX-License-Identifier: GPL-2.0-only
/* Samples of a few seconds, for one question. */

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
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/traffic/look.h"
#include "watch/traffic/rule_book.h"
#include "watch/traffic/shares.h"
#include "watch/traffic/talkers.h"

#define LIMITED_RATE  2000u  /* packets a second */
#define AFFECTED_RATE 20000u /* up to half of it, each packet of a verdict is a sample */

/* ---- sources at a limit in the hot table, from the packets that limits drop */

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

static int candidate_add(void *arg, const struct sampled *sample)
{
	struct sampling *s = arg;
	const struct rule *rule = rule_counted(s->policy, sample->packet.counter_id);
	struct candidate *candidate = NULL;
	struct rl_state_key key;

	if (!rule || !is_hot(rule))
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
		.rate = LIMITED_RATE,
		.counter_id = rule ? rule->counter_id : RL_WATCH_ANY,
	};
	struct sampling s = {.policy = policy, .ask.by_dest = instance->info.by_dest};
	struct candidate *at, *next;
	struct set_live sets;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct watch *watch = NULL;
	int ret = watch_open(instance, &options, &watch);

	set_live_open(instance, &sets);
	s.ask.members = &sets.members;
	ret = ret ?: watch_until(watch, end_ns, candidate_add, &s);
	watch_close(watch);
	set_live_close(&sets);
	if (!ret) {
		ret = states_look(instance, &s, out, count);
		if (ret)
			fail("%s: reading the states failed: %s", instance->device, strerror(-ret));
	}
	HASH_ITER(hh, s.list, at, next)
	{
		hash_remove(s.list, at);
		free(at);
	}
	return ret;
}

/* ---- how the packets of one address fare */

/* By what the packets were dropped. */
struct cause {
	uint32_t counter_id;
	uint8_t reason;
} __attribute__((packed));

struct watching {
	struct affected *out;
	bool by_dest;
	struct shares causes;
};

static int affected_add(void *arg, const struct sampled *sample)
{
	struct watching *w = arg;
	const struct rl_sample *packet = &sample->packet;
	const uint8_t *addr = w->by_dest ? packet->dst : packet->src;
	struct cause cause = {.counter_id = packet->counter_id, .reason = packet->reason};

	if (!prefix_contains(w->out->addr, w->out->len, addr))
		return 0;
	if (reason_rows[packet->reason].passes) {
		estimate_add(&w->out->passed, sample->stands_for, 1);
	} else {
		estimate_add(&w->out->dropped, sample->stands_for, 1);
		shares_add(&w->causes, &cause, sizeof(cause), sample->stands_for);
	}
	return 0;
}

int affected_watch(const struct instance *instance, const uint8_t addr[16], bool by_dest,
		   uint32_t seconds, struct affected *out)
{
	struct watching w = {.out = out, .by_dest = by_dest};
	struct watch_options options = {
		.rate = AFFECTED_RATE, .counter_id = RL_WATCH_ANY, .has_prefix = true};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct shares_part worst;
	struct watch *watch;
	struct cause cause;
	int ret;

	*out = (struct affected){.len = talker_bits(by_dest, addr)};
	prefix_mask(out->addr, addr, out->len);
	memcpy(options.addr, out->addr, sizeof(options.addr));
	options.len = out->len;
	for (int reason = 0; reason < RL_REASON_COUNT; reason++)
		options.reasons |= 1u << reason;
	ret = watch_open(instance, &options, &watch);
	if (ret)
		return ret;
	ret = watch_until(watch, end_ns, affected_add, &w);
	watch_close(watch);
	if (!ret && shares_list(&w.causes, w.causes.total, 0, &worst, 1)) {
		memcpy(&cause, worst.value, sizeof(cause));
		out->counter_id = cause.counter_id;
		out->reason = cause.reason;
	}
	return ret;
}
