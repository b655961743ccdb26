// SPDX-License-Identifier: GPL-2.0-only
/* Online CPUs hold shares of limits and budgets; the kernel keeps per-CPU values for all possible
 * CPUs. */

#include "kernel/device/cpus.h"

#include <string.h>
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/units.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/scope.h"

/* Not sysconf(): some C libraries count only the CPUs that this process may run on. */
#define ONLINE_PATH "/sys/devices/system/cpu/online"

int cpus_possible(void)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus ? cpus : -EINVAL;
}

/* If the number is unknown, counts all possible CPUs: shares are then too small rather than too
 * large. */
int cpus_online(void)
{
	CLOSED int fd = open(ONLINE_PATH, O_RDONLY | O_CLOEXEC);
	int possible = cpus_possible();
	char list[4096];
	ssize_t size = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
	uint32_t online = 0;

	if (size > 0) {
		list[size] = '\0';
		if (list_count(list, &online))
			online = 0;
	}
	return possible < 0 || !online || online > (uint32_t)possible ? possible : (int)online;
}

uint64_t map_cpu_bytes(const struct rl_instance *info, uint32_t type, uint32_t value_size,
		       uint32_t entries)
{
	uint64_t bytes = (uint64_t)((value_size + 7) / 8 * 8) * entries;

	if (value_size == counters_value_size(info))
		return bytes / info->possible_cpus;
	if (type != BPF_MAP_TYPE_PERCPU_ARRAY && type != BPF_MAP_TYPE_LRU_PERCPU_HASH)
		return 0;
	return bytes;
}

int percpu_sum(int fd, uint32_t index, uint64_t *out, size_t count)
{
	int cpus = cpus_possible(), ret;
	FREED uint64_t *values = cpus > 0 ? calloc(cpus * count, sizeof(*values)) : NULL;

	if (!values)
		return cpus < 0 ? cpus : -ENOMEM;
	memset(out, 0, count * sizeof(*out));
	ret = bpf_map_lookup_elem(fd, &index, values);
	for (size_t i = 0; !ret && i < cpus * count; i++)
		out[i % count] += values[i];
	return ret;
}
