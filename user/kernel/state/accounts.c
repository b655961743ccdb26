// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/accounts.h"

#include <errno.h>
#include <time.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "base/clock.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"

static const struct shared_table table = {.map = POLICY_MAP_accounts,
					  .name = "accounts",
					  .size = sizeof(struct rl_state),
					  .entries = RL_ACCOUNTS_MAX};

int accounts_make(const struct instance *instance)
{
	return shared_table_make(instance, &table);
}

int account_read(const struct instance *instance, uint32_t limit_id, struct rl_state *out)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_accounts);
	int ret = fd < 0 ? fd : bpf_map_lookup_elem(fd, &limit_id, out);

	if (ret)
		*out = (struct rl_state){0};
	return ret == -ENOENT ? 0 : ret;
}

struct sweep {
	int fd;
	uint64_t now;
};

/* The bucket is as good as new: it is removed. */
static int account_sweep(void *arg, const void *key, const void *value)
{
	const struct sweep *sweep = arg;
	const struct rl_state *state = value;
	int ret = (int64_t)(state->word - sweep->now) > 0 ? 0 : bpf_map_delete_elem(sweep->fd, key);

	return ret == -ENOENT ? 0 : ret;
}

int accounts_sweep(const struct instance *instance)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_accounts);
	struct sweep sweep = {fd, gcra_now(clock_ns(CLOCK_MONOTONIC))};

	return map_walk(policy_map_open(instance, POLICY_MAP_accounts), account_sweep, &sweep);
}
