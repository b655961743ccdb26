// SPDX-License-Identifier: GPL-2.0-only

#include "kernel/attach/program.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/pins.h"

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
