// SPDX-License-Identifier: GPL-2.0-only
/* Lists the sources that are banned, and those at a limit. */

#include "kernel/state/source.h"

#include <stdlib.h>

#include "kernel/state/source_search.h"

static int ban_found(struct source_search *s, const struct rl_state_key *key, const void *values,
		     size_t value_size __attribute__((unused)), int parts __attribute__((unused)))
{
	struct source_entry entry = {.key = *key, .rule = search_rule(s, key->limit_id)};

	entry.next_ns = entry.ban_ns = search_ban_ns(s, key, values);
	return entry.ban_ns ? search_add(s, &entry) : 0;
}

static int bans_find(struct source_search *s)
{
	return bans_walk(s, ban_found);
}

static int limited_find(struct source_search *s)
{
	int ret = states_walk(s);

	if (!ret)
		ret = shared_walk(s);
	for (size_t i = 0; i < s->count; i++)
		s->entries[i].next_ns = s->entries[i].allowance.wait_ns;
	return ret;
}

static int list_read(const struct instance *instance, const struct policy *policy,
		     int (*find)(struct source_search *), struct source_entry **out, size_t *count)
{
	struct source_search s = {
		.instance = instance, .policy = policy, .is_other = true, .spent = true};
	int ret;

	search_begin(&s);
	ret = search_index(&s);
	if (!ret)
		ret = find(&s);
	search_end(&s);
	if (ret) {
		free(s.entries);
		return ret;
	}
	*out = s.entries;
	*count = s.count;
	return 0;
}

int instance_bans_read(const struct instance *instance, const struct policy *policy,
		       struct source_entry **out, size_t *count)
{
	return list_read(instance, policy, bans_find, out, count);
}

int instance_limited_read(const struct instance *instance, const struct policy *policy,
			  struct source_entry **out, size_t *count)
{
	return list_read(instance, policy, limited_find, out, count);
}
