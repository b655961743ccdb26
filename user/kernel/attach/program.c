// SPDX-License-Identifier: GPL-2.0-only
/* Identifies BPF programs by the maps that they use. */

#include "kernel/attach/program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/pins.h"

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

static bool program_has(uint32_t program, const char *path)
{
	int fd = bpf_prog_get_fd_by_id(program);
	uint32_t policy, id;
	bool has = !pins_policy_id(path, &policy) && program_uses(fd, policy, &id) > 0;

	if (fd >= 0)
		close(fd);
	return has;
}

static bool folder_pins_find(const char *root, uint32_t program, char out[INSTANCE_PATH_MAX])
{
	struct pinned at;
	bool found = false;
	DIR *dir = opendir(root);

	while (dir && !found && pins_next(dir, root, &at))
		found = program_has(program, at.path);
	if (found)
		memcpy(out, at.path, sizeof(at.path));
	if (dir)
		closedir(dir);
	return found;
}

bool program_pins_find(const char *bpffs, uint32_t program, char out[INSTANCE_PATH_MAX])
{
	char root[INSTANCE_PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(root, sizeof(root), "%s/rlctl", bpffs);
	dir = opendir(root);
	while (dir && !found && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && snprintf(root, sizeof(root), "%s/rlctl/%.24s", bpffs,
							entry->d_name) < (int)sizeof(root))
			found = folder_pins_find(root, program, out);
	if (dir)
		closedir(dir);
	return found;
}
