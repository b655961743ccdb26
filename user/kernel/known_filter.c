// SPDX-License-Identifier: GPL-2.0-only
/* The filter in front of the slots of known sources, created when a policy first uses new-source.
 * bpf/known_source.h describes how packets use it.
 *
 * It must never miss a known source, but programs without it (of earlier builds, or under a policy
 * that an earlier command wrote) remember sources too. Only an instance that never had a policy
 * knows none for certain: its filter begins empty. Any other begins full, under the number of this
 * epoch and the next one, and no longer matters when the last source of before is forgotten. */

#include "known_filter.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/known_filter.h"
#include "clock.h"
#include "map_in_map.h"
#include "policy_write.h"

/* The next epoch as well, so that a program that is replaced may run until then. */
static int filter_fill(const struct instance *instance, int fd)
{
	uint64_t now_ns = instance->clock_injected ? instance->now_ns : clock_ns(CLOCK_MONOTONIC);
	uint64_t epoch = known_epoch(now_ns);
	uint32_t sets = known_sets(instance->info.hot_sets);
	struct rl_known_set *set =
		mmap(NULL, sets * sizeof(*set), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (set == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < sets; i++)
		for (uint64_t e = epoch; e < epoch + 2; e++)
			__atomic_store_n(&set[i].plane[e % RL_KNOWN_PLANES],
					 e << KNOWN_TAG_SHIFT | KNOWN_CELLS, __ATOMIC_SEQ_CST);
	munmap(set, sets * sizeof(*set));
	return 0;
}

static int filter_create(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct rl_policy_header header;
	uint32_t size = known_sets(instance->info.hot_sets) * sizeof(struct rl_known_set);
	int ret = 0, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_known", sizeof(uint32_t), size,
					 1, &opts);

	if (fd < 0)
		return -errno;
	if (policy_header_read(instance, &header) != -ENOENT)
		ret = filter_fill(instance, fd);
	if (!ret)
		ret = inner_put(instance, instance->fd.known_filter, 0, fd);
	close(fd);
	return ret;
}

int known_filter_make(const struct instance *instance)
{
	int fd;

	if (instance->info.table != RL_TABLE_HOT || instance->fd.known_filter < 0)
		return 0;
	fd = inner_open(instance, instance->fd.known_filter, 0);
	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return filter_create(instance);
	return fd < 0 ? fd : 0;
}

int known_filter_suspect(const struct instance *instance)
{
	int ret, fd = -ENOENT;

	if (instance->fd.known_filter >= 0)
		fd = inner_open(instance, instance->fd.known_filter, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret = filter_fill(instance, fd);
	close(fd);
	return ret;
}
