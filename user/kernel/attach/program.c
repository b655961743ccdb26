// SPDX-License-Identifier: GPL-2.0-only
/* Identifies BPF programs by the maps that they use. */

#include "kernel/attach/program.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel/instance/pins.h"
#include "kernel/scope.h"

int program_uses(int fd, uint32_t wanted, uint32_t *id)
{
	uint32_t maps[64] = {0};
	struct bpf_prog_info info = {.nr_map_ids = 64, .map_ids = (uint64_t)(uintptr_t)maps};
	uint32_t size = sizeof(info);
	int ret = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &size);

	if (ret)
		return fd == -ENOENT ? 0 : ret;
	*id = info.id;
	for (uint32_t i = 0; i < info.nr_map_ids && i < 64; i++)
		if (maps[i] == wanted)
			return 1;
	return 0;
}

int program_id_uses(uint32_t program, uint32_t wanted, uint32_t *id)
{
	CLOSED int fd = bpf_prog_get_fd_by_id(program);

	return program_uses(fd, wanted, id);
}

uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}

bool program_pins_find(const char *bpffs, uint32_t program, char out[INSTANCE_PATH_MAX])
{
	char all[INSTANCE_PATH_MAX + 8], root[INSTANCE_PATH_MAX + 32];
	uint32_t policy, id;
	struct pinned at;

	snprintf(all, sizeof(all), "%s/" PINS_FOLDER, bpffs);
	CLOSED_DIR DIR *dir = opendir(all);
	while (dir && pins_netns_next(dir, all, root)) {
		CLOSED_DIR DIR *folder = opendir(root);

		while (folder && pins_next(folder, root, &at)) {
			if (pins_policy_id(at.path, &policy) ||
			    program_id_uses(program, policy, &id) <= 0)
				continue;
			memcpy(out, at.path, sizeof(at.path));
			return true;
		}
	}
	return false;
}
