// SPDX-License-Identifier: GPL-2.0-only
/* Queries one map. */

#include "kernel/maps/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <bpf/bpf.h>

int map_id(int map_fd, uint32_t *out)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map_fd, &info, &size))
		return -errno;
	*out = info.id;
	return 0;
}

int map_value_check(int map_fd, size_t size)
{
	struct bpf_map_info info = {0};
	uint32_t info_size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map_fd, &info, &info_size))
		return -errno;
	return info.value_size == size ? 0 : -EPROTO;
}

int map_memory_add(int map_fd, uint64_t *sum)
{
	char path[64], line[128];
	uint64_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	fclose(file);
	*sum += bytes;
	return 0;
}
