// SPDX-License-Identifier: GPL-2.0-only
/* Follows the instance's policy: finds the limits of the fleet, and drops those that are no longer
 * there.
 */
#include "fleet/agent_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "kernel/maps/fleet_maps.h"
#include "kernel/policy/policy_read.h"
#include "policy/policy.h"

#define POLICY_NS   NS_PER_SECOND
#define SHED_SAY_NS (10 * NS_PER_SECOND)

static struct fleet_limit *limit_find(struct agent *a, uint32_t id)
{
	for (size_t i = 0; i < a->limit_count; i++)
		if (a->limits[i].rule.limit_id == id)
			return &a->limits[i];
	return NULL;
}

void agent_limits_write(struct agent *a, uint64_t now_ns)
{
	a->limits_ns = now_ns;
	for (size_t i = 0; i < a->limit_count; i++) {
		fleet_limit_next(&a->limits[i], a->pace.members, a->session.shared, now_ns);
		fleet_limit_write(a->instance, a->limits[i].rule.limit_id, &a->limits[i].record);
	}
}

static int limits_make(struct agent *a, const struct policy *policy)
{
	a->limits = calloc(policy->count + 1, sizeof(*a->limits));
	a->limit_count = 0;
	if (!a->limits)
		return fail("out of memory");
	policy_for_each (policy, rule) {
		struct fleet_limit *limit = &a->limits[a->limit_count];

		if (rule->action != RL_ACTION_LIMIT || !rule->limit.fleet)
			continue;
		fleet_limit_make(rule, a->instance->info.mtu, a->instance->info.by_dest, limit);
		fleet_limit_read(a->instance, rule->limit_id, &limit->record);
		a->limit_count++;
	}
	if (!a->limit_count && !a->session.shared)
		note("%s: the policy has no limit with the word fleet yet", a->instance->device);
	return 0;
}

/* Finds the limits of all keys again, by id; leases start anew. */
static void table_restart(struct agent *a)
{
	struct fleet_entry *entry, *next;

	for (entry = a->keys; entry; entry = next) {
		next = entry->hh.next;
		entry->limit = limit_find(a, entry->key.limit_id);
		if (entry->limit)
			fleet_entry_reset(entry);
		else
			fleet_key_remove(&a->keys, entry);
	}
}

/* Keys that the agent has no time or room for: counted, with a note from time to time. */
void agent_shed(struct agent *a, size_t count, const char *why)
{
	uint64_t now_ns = fleet_now_ns();

	a->session.shed += count;
	a->shedding += count;
	if (now_ns - a->shed_ns < SHED_SAY_NS)
		return;
	note("%s: %llu keys %s", a->instance->device, (unsigned long long)a->shedding, why);
	a->shed_ns = now_ns;
	a->shedding = 0;
}

int agent_key_wanted(void *arg, void *data, size_t size)
{
	struct agent *a = arg;
	const struct rl_state_key *key = data;
	struct fleet_entry *entry;
	struct fleet_limit *limit;

	if (size != sizeof(*key))
		return 0;
	entry = fleet_key_find(a->keys, key);
	limit = entry ? NULL : limit_find(a, key->limit_id);
	if (!entry && limit && !fleet_key_add(&a->keys, key, limit, a->options->url.shards))
		agent_shed(a, 1, "have no lease: too many keys");
	if (entry && !entry->backoff_ns && !entry->limit->window)
		entry->next_ns = 0; /* needs more than its last request */
	return 0;
}

int agent_policy_load(struct agent *a)
{
	struct fleet_limit *before = a->limits;
	size_t before_count = a->limit_count;
	struct policy policy = {0};
	int ret;

	fleet_maps_close(&a->maps);
	ret = fleet_maps_open(a->instance, agent_key_wanted, a, &a->maps);
	if (!ret)
		ret = instance_policy_read(a->instance, &policy);
	if (ret)
		return ret;
	fleet_clear(a->instance, false);
	ret = limits_make(a, &policy);
	policy_clear(&policy);
	if (!ret) {
		for (size_t i = 0; i < before_count; i++)
			if (!limit_find(a, before[i].rule.limit_id)) /* no longer there */
				fleet_limit_write(a->instance, before[i].rule.limit_id, NULL);
		table_restart(a);
	}
	free(before);
	if (ret)
		return ret;
	agent_limits_write(a, fleet_now_ns());
	return 0;
}

int agent_policy_watch(struct agent *a, uint64_t now_ns)
{
	int ret;

	if (now_ns - a->policy_ns < POLICY_NS)
		return 0;
	a->policy_ns = now_ns;
	ret = instance_pins_check(a->instance);
	if (ret && ret != -ENOENT)
		return fail("%s: cannot read its pins: %s", a->instance->device, strerror(-ret));
	if (ret)
		return fail("%s: detached: run `rlctl attach %s`, then join again",
			    a->instance->device, a->instance->device);
	if (instance_generation(a->instance) == a->maps.generation)
		return 0;
	return agent_policy_load(a) ? -1 : 0;
}
