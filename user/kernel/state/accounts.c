// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/accounts.h"

#include <errno.h>
#include <time.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "base/clock.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"

#define CHUNK 4096u

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

static int account_remove(int fd, uint32_t limit_id)
{
	int ret = bpf_map_delete_elem(fd, &limit_id);

	return ret == -ENOENT ? 0 : ret;
}

int account_forget(const struct instance *instance, uint32_t limit_id)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_accounts);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return account_remove(fd, limit_id);
}

/* The ids of those to be removed; 0 or -errno. Removing while walking would begin the walk anew. */
static int ids_find(int fd, uint64_t now, bool all, uint32_t *ids, size_t *count)
{
	FREED struct rl_state *states = calloc(CHUNK, sizeof(*states));
	uint32_t keys[CHUNK], n, cursor, *from = NULL;
	int ret = states ? 0 : -ENOMEM;

	while (!ret) {
		n = CHUNK;
		ret = bpf_map_lookup_batch(fd, from, &cursor, keys, states, &n, NULL);
		for (uint32_t i = 0; (!ret || ret == -ENOENT) && i < n && *count < RL_ACCOUNTS_MAX;
		     i++)
			if (all || (int64_t)(states[i].word - now) <= 0)
				ids[(*count)++] = keys[i];
		from = &cursor;
	}
	return ret == -ENOENT ? 0 : ret;
}

int accounts_sweep(const struct instance *instance, bool all)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_accounts);
	size_t count = 0;
	int ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	FREED uint32_t *ids = calloc(RL_ACCOUNTS_MAX, sizeof(*ids));
	ret = ids ? ids_find(fd, gcra_now(clock_ns(CLOCK_MONOTONIC)), all, ids, &count) : -ENOMEM;
	for (size_t i = 0; !ret && i < count; i++)
		ret = account_remove(fd, ids[i]);
	return ret;
}
