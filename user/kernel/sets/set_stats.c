// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/sets/sets.h"

#include <errno.h>
#include <stdlib.h>

#include "policy/sets/member.h"

struct count {
	uint32_t members[RL_SETS_MAX][2];
};

static int member_count(uint32_t set, const struct member_entry *entry, void *arg)
{
	struct count *count = arg;

	count->members[set][!member_is_ipv4(&entry->member)]++;
	return 0;
}

static bool may_have_expired(const struct set_session *session)
{
	uint32_t next = session->table.layout->next_expiry;

	return session->table.layout->stale || (next && (int32_t)(next - session->table.now) <= 0);
}

/* Counts the members, if some that the writer has counted may have expired. */
static int members_count(struct set_session *session)
{
	struct count *count;
	int ret;

	if (!may_have_expired(session))
		return 0;
	count = calloc(1, sizeof(*count));
	ret = count ? member_table_walk(&session->table, ~0ull, member_count, count) : -ENOMEM;
	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++)
			session->sets[i].members[ipv6] = count->members[i][ipv6];
	free(count);
	return ret;
}

static int stats_fill(struct set_session *session, const struct policy *policy,
		      struct set_stats *out)
{
	int ret = members_count(session);

	for (size_t i = 0; !ret && i < policy->set_count; i++) {
		uint32_t id = policy->sets[i].id;

		out[i].set = session->sets[id];
		ret = set_matched(session->instance, id, &out[i].matched);
	}
	return ret;
}

int set_stats_read(const struct instance *instance, const struct policy *policy,
		   struct set_stats **out)
{
	struct set_session session;
	int ret;

	*out = NULL;
	if (!policy->set_count)
		return 0;
	*out = calloc(policy->set_count, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	ret = set_session_open(instance, false, &session);
	if (ret == -ENOENT) /* the policy was replaced meanwhile */
		return 0;
	if (ret)
		return ret;
	ret = stats_fill(&session, policy, *out);
	set_session_close(&session);
	return ret;
}
