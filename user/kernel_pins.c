// SPDX-License-Identifier: GPL-2.0-only
/* Pins: where an instance's maps are found again. Folders and locks below bpffs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_doctor.h"
#include "kernel_internal.h"
#include "output.h"

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}

static bool same_namespace(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_ino == sb.st_ino;
}

/* `ip netns exec` mounts a new /sys for the command; a bpffs mounted there would end with it. */
static bool in_netns_exec(void)
{
	return !netns_entered && !same_namespace("/proc/self/ns/mnt", "/proc/1/ns/mnt") &&
	       !same_namespace("/proc/self/ns/net", "/proc/1/ns/net");
}

bool bpffs_mounted(const char *bpffs)
{
	return is_bpffs(bpffs);
}

bool bpffs_hidden(void)
{
	return in_netns_exec();
}

static const char *mount_remedy(int error)
{
	switch (error) {
	case EPERM:
		return " (rlctl needs root for this command)";
	case ENODEV:
		return ": this kernel is built without BPF (CONFIG_BPF_SYSCALL): use one that has "
		       "it, as distributions build it";
	default:
		return ": `mount -t bpf bpf DIR`, then --bpffs DIR";
	}
}

static int bpffs_ensure(const char *bpffs)
{
	if (is_bpffs(bpffs))
		return 0;
	if (in_netns_exec()) {
		fail("%s is not a bpffs inside this mount namespace: leave `ip netns exec`, and "
		     "name the namespace with `rlctl -n NAME` instead",
		     bpffs);
		return -ENODEV;
	}
	if (mount("bpf", bpffs, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700")) {
		int error = errno;

		fail("%s is not a bpffs, and mounting one there failed: %s%s", bpffs,
		     strerror(error), mount_remedy(error));
		return -error;
	}
	return 0;
}

int pins_root(const char *bpffs, char out[INSTANCE_PATH_MAX])
{
	struct stat netns;
	int ret = bpffs_ensure(bpffs);

	if (ret)
		return ret;
	if (stat("/proc/self/ns/net", &netns)) {
		ret = -errno;
		fail("/proc/self/ns/net: %s: is /proc mounted?", strerror(-ret));
		return ret;
	}
	if (snprintf(out, INSTANCE_PATH_MAX, "%s/rlctl/%ju", bpffs, (uintmax_t)netns.st_ino) >=
	    INSTANCE_PATH_MAX - 64) {
		fail("--bpffs %s: the path is too long", bpffs);
		return -ENAMETOOLONG;
	}
	pins_follow(out);
	return 0;
}

int pins_path(const char *root, const char *device, enum rl_hook hook, char out[INSTANCE_PATH_MAX])
{
	int len = snprintf(out, INSTANCE_PATH_MAX, "%s/%s-%s", root, device, hook_name(hook));

	/* bpffs takes no dot in a name: VLAN devices (eth0.100) are written with a colon, which no
	 * device name may hold. */
	for (char *c = out + strlen(root) + 1; *c; c++)
		if (*c == '.')
			*c = ':';
	return len < INSTANCE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool pins_name_split(const char *name, char device[IF_NAMESIZE], enum rl_hook *hook)
{
	const char *dash = strrchr(name, '-');
	size_t len = dash ? dash - name : 0;

	if (!len || len >= IF_NAMESIZE)
		return false;
	for (int h = RL_HOOK_XDP; h <= RL_HOOK_EGRESS; h++) {
		if (strcmp(dash + 1, hook_name(h)))
			continue;
		memcpy(device, name, len);
		device[len] = '\0';
		for (char *c = device; *c; c++)
			if (*c == ':')
				*c = '.';
		*hook = h;
		return true;
	}
	return false;
}

/* Makes every folder of path below bpffs, which exists. */
static int folders_make(const char *path)
{
	char part[INSTANCE_PATH_MAX];

	for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		size_t len = slash ? (size_t)(slash - path) : strlen(path);

		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
	}
}

static int parent_leave(const char *path)
{
	char parent[INSTANCE_PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	return rmdir(parent) && errno != ENOTEMPTY && errno != ENOENT ? -errno : 0;
}

static bool still_there(int fd, const char *path)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !lstat(path, &named) && opened.st_ino == named.st_ino;
}

int pins_lock(const char *path, bool create)
{
	for (;;) {
		int ret = create ? folders_make(path) : 0;
		int fd;

		/* Another detach may take a folder on the way away again. */
		if (ret == -ENOENT)
			continue;
		if (ret) {
			parent_leave(path);
			return ret;
		}
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 && errno == ENOENT && create)
			continue;
		if (fd < 0)
			return -errno;
		while ((ret = flock(fd, LOCK_EX)) && errno == EINTR)
			;
		if (ret) {
			ret = -errno;
			close(fd);
			return ret;
		}
		/* Whoever had the lock may have detached and taken the folder away. */
		if (still_there(fd, path))
			return fd;
		close(fd);
		if (!create)
			return -ENOENT;
	}
}

static int pin_open(const char *path, const char *name)
{
	char pin[INSTANCE_PATH_MAX + 32];
	int fd;

	snprintf(pin, sizeof(pin), "%s/%s", path, name);
	fd = bpf_obj_get(pin);
	return fd < 0 ? -errno : fd;
}

int pins_open(const char *path, struct instance_maps *out)
{
	struct instance_maps maps;
	int ret = 0;

#define OPEN_NONE(name) maps.name = -1;
	INSTANCE_MAPS(OPEN_NONE)
#undef OPEN_NONE
#define OPEN_ONE(name)                               \
	if (!ret) {                                  \
		maps.name = pin_open(path, #name);   \
		ret = maps.name < 0 ? maps.name : 0; \
	}
	INSTANCE_MAPS(OPEN_ONE)
#undef OPEN_ONE
	if (ret)
		maps_close(&maps);
	else
		*out = maps;
	return ret;
}

int pins_policy_id(const char *path, uint32_t *out)
{
	int fd = pin_open(path, "policy"), ret;

	if (fd < 0)
		return fd;
	ret = map_id(fd, out);
	close(fd);
	return ret;
}

void maps_close(struct instance_maps *maps)
{
#define CLOSE_ONE(name)            \
	if (maps->name >= 0)       \
		close(maps->name); \
	maps->name = -1;
	INSTANCE_MAPS(CLOSE_ONE)
#undef CLOSE_ONE
}

static int files_unlink(DIR *dir)
{
	struct dirent *entry;
	int ret = 0;

	for (errno = 0; (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0))
			ret = -errno;
	return ret ? ret : -errno;
}

int pins_clear(const char *path)
{
	DIR *dir = opendir(path);
	int ret;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	trial_clear(path);
	ret = files_unlink(dir);
	closedir(dir);
	return ret;
}

int folders_leave(const char *path)
{
	if (rmdir(path) && errno != ENOENT)
		return -errno;
	return parent_leave(path); /* not while another instance is in there */
}

int pins_remove(const char *path)
{
	int ret = pins_clear(path);

	return ret ? ret : folders_leave(path);
}

int inner_open(int outer_fd, uint32_t slot)
{
	uint32_t id;
	int fd;

	if (bpf_map_lookup_elem(outer_fd, &slot, &id))
		return -errno;
	fd = bpf_map_get_fd_by_id(id);
	return fd < 0 ? -errno : fd;
}

int map_id(int map_fd, uint32_t *out)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map_fd, &info, &size))
		return -errno;
	*out = info.id;
	return 0;
}

uint32_t map_value_size(int map_fd)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(map_fd, &info, &size) ? 0 : info.value_size;
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
