// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "base/clock.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/shared_table.h"

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
	int fd = shared_table_open(instance, &table), ret = 0;

	*out = (struct rl_state){0};
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_map_lookup_elem(fd, &limit_id, out) && errno != ENOENT)
		ret = -errno;
	close(fd);
	return ret;
}

static int account_remove(int fd, uint32_t limit_id)
{
	return bpf_map_delete_elem(fd, &limit_id) && errno != ENOENT ? -errno : 0;
}

int account_forget(const struct instance *instance, uint32_t limit_id)
{
	int fd = shared_table_open(instance, &table), ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret = account_remove(fd, limit_id);
	close(fd);
	return ret;
}

/* The ids of those to be removed; 0 or -errno. Removing while walking would begin the walk anew. */
static int ids_find(int fd, uint64_t now, bool all, uint32_t *ids, size_t *count)
{
	struct rl_state *states = calloc(CHUNK, sizeof(*states));
	uint32_t keys[CHUNK], n, cursor, *from = NULL;
	int ret = states ? 0 : -ENOMEM, end = 0;

	while (!ret && !end) {
		n = CHUNK;
		if (bpf_map_lookup_batch(fd, from, &cursor, keys, states, &n, NULL)) {
			end = errno == ENOENT;
			ret = end ? 0 : -errno;
		}
		for (uint32_t i = 0; !ret && i < n && *count < RL_ACCOUNTS_MAX; i++)
			if (all || (int64_t)(states[i].word - now) <= 0)
				ids[(*count)++] = keys[i];
		from = &cursor;
	}
	free(states);
	return ret;
}

int accounts_sweep(const struct instance *instance, bool all)
{
	int fd = shared_table_open(instance, &table), ret;
	uint32_t *ids;
	size_t count = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ids = calloc(RL_ACCOUNTS_MAX, sizeof(*ids));
	ret = ids ? ids_find(fd, gcra_now(clock_ns(CLOCK_MONOTONIC)), all, ids, &count) : -ENOMEM;
	for (size_t i = 0; !ret && i < count; i++)
		ret = account_remove(fd, ids[i]);
	free(ids);
	close(fd);
	return ret;
}
