// SPDX-License-Identifier: GPL-2.0-only
/* Identifies BPF programs by the maps that they use. */

#include "kernel/attach/program.h"

#include <errno.h>
#include <bpf/bpf.h>

int program_uses(int fd, uint32_t wanted, uint32_t *id)
{
	uint32_t maps[64] = {0};
	struct bpf_prog_info info = {.nr_map_ids = 64, .map_ids = (uint64_t)(uintptr_t)maps};
	uint32_t size = sizeof(info);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	*id = info.id;
	for (uint32_t i = 0; i < info.nr_map_ids && i < 64; i++)
		if (maps[i] == wanted)
			return 1;
	return 0;
}

uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}
