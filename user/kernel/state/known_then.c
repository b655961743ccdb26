// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/known_then.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/hot_hash.h"
#include "algorithm/known_filter.h"
#include "base/clock.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"

static int filter_read(const struct instance *instance, struct known_then *out)
{
	uint32_t count = known_sets(instance->info.hot_sets), zero = 0;
	int fd = policy_map_open(instance, POLICY_MAP_known_filter), ret;

	if (fd < 0)
		return fd;
	ret = map_value_check(fd, count * sizeof(*out->sets));
	if (!ret && !out->sets)
		out->sets = calloc(count, sizeof(*out->sets));
	if (!ret)
		ret = !out->sets ? -ENOMEM : bpf_map_lookup_elem(fd, &zero, out->sets) ? -errno : 0;
	close(fd);
	out->mask = count - 1;
	out->epoch = known_epoch(clock_ns(CLOCK_MONOTONIC));
	return ret;
}

int known_then_read(const struct instance *instance, struct known_then *out)
{
	int ret = instance->info.hot_sets ? filter_read(instance, out) : -ENOENT;

	if (ret)
		known_then_clear(out);
	return ret;
}

void known_then_clear(struct known_then *then)
{
	free(then->sets);
	*then = (struct known_then){0};
}

bool known_then_has(const struct known_then *then, const struct instance *instance,
		    const uint8_t source[16])
{
	__u64 addr[2], address;

	if (!then->sets)
		return false;
	memcpy(addr, source, sizeof(addr));
	address = hot_hash_address(instance->info.hot_seed, address_is_mapped(addr), addr);
	return known_may(&then->sets[known_index(address, then->mask)], known_bit(address),
			 then->epoch);
}
