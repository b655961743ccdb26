// SPDX-License-Identifier: GPL-2.0-only
/* Clears states and bans. */

#include "kernel/state/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/key_parts.h"
#include "base/message.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/state/accounts.h"
#include "kernel/state/bans.h"
#include "kernel/state/source_search.h"

/* Deletes the entry's key and closes fd; a map that does not exist has nothing to clear. */
static int map_forget(int fd, const struct source_entry *entry)
{
	int ret = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_map_delete_elem(fd, &entry->key) && errno != ENOENT)
		ret = -errno;
	close(fd);
	return ret;
}

/* A state that all keys share stays. */
static bool is_shared(const struct source_entry *entry)
{
	return entry->rule && entry->rule->limit.key == RL_KEY_RULE;
}

/* Clears the state of one entry in every map that may hold it. */
static int state_forget(struct source_search *s, const struct hot_table *table,
			const struct source_entry *entry)
{
	struct rl_rule numbers = {0};
	int ret;

	if (!entry->has_state || !entry->rule)
		return 0;
	if (parts_are_account(&entry->rule->limit))
		return account_forget(s->instance, entry->rule->limit_id);
	numbers = search_numbers(s, entry->rule);
	if (numbers.backend == RL_BACKEND_HOT)
		return hot_forget(table, &numbers, &entry->key);
	ret = map_forget(search_map_open(s->instance, entry->rule), entry);
	if (!ret && entry->rule->limit.fleet)
		ret = map_forget(policy_map_open(s->instance, POLICY_MAP_fleet_keys), entry);
	if (!ret && numbers.backend == RL_BACKEND_UNCONFIRMED)
		/* after the state, from which a packet would restore it */
		ret = hot_forget(table, &numbers, &entry->key);
	return ret;
}

/* Bans after all states: a packet between the two would be over by its old state, and banned anew,
 * while one that is banned reaches no state. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count)
{
	struct source_search s = {.instance = instance};
	struct hot_table table;
	int ret = hot_open(instance, &table);

	search_begin(&s);
	for (size_t i = 0; !ret && i < count; i++)
		ret = is_shared(&entries[i]) ? 0 : state_forget(&s, &table, &entries[i]);
	for (size_t i = 0; !ret && i < count; i++)
		ret = is_shared(&entries[i]) ? 0 : ban_forget(instance, &entries[i].key);
	if (ret)
		fail("%s: clearing the states failed: %s", instance->device, strerror(-ret));
	hot_close(&table);
	return ret;
}
