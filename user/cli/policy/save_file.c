// SPDX-License-Identifier: GPL-2.0-only
/* Replaces a file by a new one beside it. The folder is opened once, and names in it are never
 * followed: another user who may write to it can exchange no name for a link to a file that is not
 * his. */
#include "cli/policy/save_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "kernel/attach/hook_names.h"
#include "kernel/device/device.h"
#include "kernel/device/netns.h"
#include "kernel/scope.h"

#define LINKS_MAX 8
#define NEW_MODE  0640

struct place {
	const char *path; /* as messages show it */
	int folder;
	char name[NAME_MAX + 1];
	int fd; /* the former file, for reading; -1: there is none */
	struct stat stat;
};

/* Opens the folder of a path that begins at place->folder. 0 or -errno. */
static int folder_enter(struct place *place, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	int fd;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	if (strlen(name) > NAME_MAX || (size_t)(name - path) >= sizeof(folder))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	fd = openat(place->folder, slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (place->folder >= 0)
		close(place->folder);
	place->folder = fd;
	snprintf(place->name, sizeof(place->name), "%s", name);
	return 0;
}

/* One step: 1 if the name was a link, of which `path` receives where it leads. */
static int place_step(struct place *place, char path[PATH_MAX])
{
	const struct stat *stat = &place->stat;
	int ret = folder_enter(place, path);
	CLOSED int fd =
		ret ? -1 : openat(place->folder, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len;

	if (ret)
		return ret;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &place->stat))
		return -errno;
	if (!S_ISLNK(stat->st_mode))
		return S_ISREG(stat->st_mode) ? 0 : S_ISDIR(stat->st_mode) ? -EISDIR : -ENOTSUP;
	if (stat->st_uid && stat->st_uid != geteuid())
		return -ELOOP;
	len = readlinkat(fd, "", path, PATH_MAX);
	if (len < 0)
		return -errno;
	if (len == PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '\0';
	return 1;
}

static int place_open(const char *path, struct place *out)
{
	char next[PATH_MAX];
	int ret = 1;

	*out = (struct place){.path = path, .folder = AT_FDCWD, .fd = -1};
	snprintf(next, sizeof(next), "%s", path);
	if (strlen(path) >= sizeof(next))
		return fail("%s: %s", path, strerror(ENAMETOOLONG));
	for (int links = 0; ret > 0; links++)
		ret = links < LINKS_MAX ? place_step(out, next) : -ELOOP;
	if (!ret) {
		out->fd = openat(out->folder, out->name,
				 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (out->fd < 0 ? errno != ENOENT : fstat(out->fd, &out->stat))
			ret = -errno;
	}
	if (!ret)
		return 0;
	if (ret == -ELOOP)
		return fail("%s: symbolic link of another user, or too many of them: name the file "
			    "itself",
			    path);
	if (ret == -ENOENT)
		return fail("%s: %s: make its directory first, with `mkdir -p`", path,
			    strerror(ENOENT));
	if (ret == -ENOTSUP)
		return fail("%s: not a file: name a file", path);
	return fail("%s: %s", path, strerror(-ret));
}

static void place_close(struct place *place)
{
	if (place->folder >= 0)
		close(place->folder);
	if (place->fd >= 0)
		close(place->fd);
}

/* ---- writing */

static void temporary_name(const struct place *place, const char *suffix, char out[NAME_MAX + 1])
{
	snprintf(out, NAME_MAX + 1, ".%.200s.%ld%s", place->name, (long)getpid(), suffix);
}

/* Removes what processes left that were killed as they wrote this file: names of temporary_name()
 * with the number of a process that has ended. */
static void left_remove(const struct place *place)
{
	int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char own[NAME_MAX + 1], *end;
	size_t len = snprintf(own, sizeof(own), ".%.200s.", place->name);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *number = entry->d_name + len;
		long pid;

		if (strncmp(entry->d_name, own, len) != 0)
			continue;
		pid = strtol(number, &end, 10);
		if (pid > 0 && end > number && (!*end || !strcmp(end, "~")) &&
		    kill((pid_t)pid, 0) && errno == ESRCH)
			unlinkat(place->folder, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static int text_write(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= n;
	}
	return fsync(fd) ? -errno : 0;
}

static int temporary_write(const struct place *place, const char *name, const char *text,
			   size_t size)
{
	bool is_new = place->fd < 0;
	int ret = 0, fd;

	unlinkat(place->folder, name, 0); /* left by a crash */
	fd = openat(place->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	/* The mode first, while the file is ours. */
	if (fchmod(fd, is_new ? NEW_MODE : place->stat.st_mode & 0777) ||
	    (!is_new && (place->stat.st_uid != geteuid() || place->stat.st_gid != getegid()) &&
	     fchown(fd, place->stat.st_uid, place->stat.st_gid)))
		ret = -errno;
	ret = ret ?: text_write(fd, text, size);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* The former file gets a second name. */
static int former_keep(const struct place *place)
{
	char name[NAME_MAX + 1], backup[NAME_MAX + 2];
	int ret = 0;

	if (snprintf(backup, sizeof(backup), "%s~", place->name) > NAME_MAX)
		return -ENAMETOOLONG;
	temporary_name(place, "~", name);
	unlinkat(place->folder, name, 0);
	if (linkat(place->folder, place->name, place->folder, name, 0))
		return -errno;
	if (renameat(place->folder, name, place->folder, backup))
		ret = -errno;
	unlinkat(place->folder, name, 0); /* there, if both were the same file */
	return ret;
}

/* The new file is whole before the former one loses its name. */
static int file_replace(const struct place *place, const char *text, size_t size, bool keep)
{
	char name[NAME_MAX + 1];
	int ret;

	left_remove(place);
	temporary_name(place, "", name);
	ret = temporary_write(place, name, text, size);
	if (!ret && keep)
		ret = former_keep(place);
	if (!ret && renameat(place->folder, name, place->folder, place->name))
		ret = -errno;
	if (ret)
		unlinkat(place->folder, name, 0);
	else if (fsync(place->folder))
		ret = -errno;
	return ret;
}

int file_save(const char *path, const char *text, size_t size,
	      bool (*backup_wanted)(const char *text, size_t size, const void *arg),
	      const void *arg, bool *backup)
{
	CLEARED_FILE struct policy_file former = {0};
	struct place place;
	int ret, rc = place_open(path, &place);
	bool keep = false;

	if (!rc && place.fd >= 0 && backup_wanted)
		rc = policy_descriptor_read(place.fd, path, &former);
	if (!rc) {
		keep = former.text && backup_wanted(former.text, former.size, arg);
		ret = file_replace(&place, text, size, keep);
		rc = ret ? fail("%s: saving failed: %s", path, strerror(-ret)) : 0;
	}
	if (backup)
		*backup = keep;
	place_close(&place);
	return rc;
}

int file_save_check(const char *path)
{
	struct place place;
	int rc = place_open(path, &place);

	if (!rc && faccessat(place.folder, ".", W_OK | X_OK, AT_EACCESS))
		rc = fail("%s: saving failed: %s", path, strerror(errno));
	place_close(&place);
	return rc;
}

/* ---- the file of an instance */

/* The file of DEV at a hook of tc is that of a device DEV.HOOK at xdp as well. 0, or -1 if there
 * are both devices; reports. */
static int path_check(const char *verb, const char *path, const char *device, enum rl_hook hook)
{
	const char *dot = strrchr(device, '.');
	enum rl_hook other = RL_HOOK_XDP;
	char name[IF_NAMESIZE];

	if (hook != RL_HOOK_XDP) {
		if (snprintf(name, sizeof(name), "%s.%s", device, hook_name(hook)) >= IF_NAMESIZE)
			return 0;
	} else {
		if (!dot)
			return 0;
		other = strcmp(dot + 1, hook_name(RL_HOOK_EGRESS)) ? RL_HOOK_INGRESS
								   : RL_HOOK_EGRESS;
		if (strcmp(dot + 1, hook_name(other)) != 0)
			return 0;
		snprintf(name, sizeof(name), "%.*s", (int)(dot - device), device);
	}
	if (device_index(name) < 0)
		return 0;
	return fail("%s: the file of %s at %s and of %s at %s: name another one: `rlctl %s -i %s "
		    "--hook %s FILE`",
		    path, device, hook_name(hook), name, hook_name(other), verb, device,
		    hook_name(hook));
}

int instance_file_path(const char *verb, const char *folder, const char *device, enum rl_hook hook,
		       const char *suffix, char out[PATH_MAX])
{
	bool at_tc = hook != RL_HOOK_XDP;
	char netns[NAME_MAX + 1];

	if (netns_name(netns))
		return fail("%s: this network namespace has no name of `ip netns`, so it has no "
			    "file in %s: name one: `rlctl %s -i %s --hook %s FILE`",
			    device, folder, verb, device, hook_name(hook));
	snprintf(out, PATH_MAX, "%s/%s%s%s%s%s%s.%s", folder, *netns ? "netns-" : "", netns,
		 *netns ? "/" : "", device, at_tc ? "." : "", at_tc ? hook_name(hook) : "", suffix);
	return path_check(verb, out, device, hook);
}

void instance_file_owner(const char *device, enum rl_hook hook, char out[OWNER_MAX])
{
	char netns[NAME_MAX + 1];
	bool named = !netns_name(netns);

	snprintf(out, OWNER_MAX, "%s at %s%s%s", device, hook_name(hook),
		 named && !*netns ? "" : " in ", named ? netns : "a namespace without a name");
}
