// SPDX-License-Identifier: GPL-2.0-only
/* The filter in front of the slots of known sources, created when a policy first uses new-source
 * and kept from then on. bpf/match/known_source.h describes how packets use it. Sources are
 * remembered only under such a policy, so that it begins empty and misses none. */

#include "kernel/proof/known_filter.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/known_filter.h"
#include "kernel/maps/map_in_map.h"

static int filter_create(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t size = known_sets(instance->info.hot_sets) * sizeof(struct rl_known_set);
	int ret, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_known", sizeof(uint32_t), size, 1,
				     &opts);

	if (fd < 0)
		return -errno;
	ret = inner_put(instance, instance->fd.known_filter, 0, fd);
	close(fd);
	return ret;
}

int known_filter_make(const struct instance *instance)
{
	int fd;

	if (instance->info.table != RL_TABLE_HOT)
		return 0;
	fd = inner_open(instance, instance->fd.known_filter, 0);
	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return filter_create(instance);
	return fd < 0 ? fd : 0;
}
