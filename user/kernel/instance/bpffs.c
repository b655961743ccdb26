// SPDX-License-Identifier: GPL-2.0-only
/* Detects whether a bpffs is mounted and whether one may be mounted.
 *
 * The last unmount of a bpffs removes its pins, and with libxdp's links the program leaves the
 * device. A bpffs is therefore mounted only if the mount outlasts this command: in the mount
 * namespace of process 1, or if mounts propagate to it. Process 1 counts if it is the machine's
 * (initial PID namespace) or the systemd of a booted container; in any other container it may be
 * this very command. Nothing here needs CAP_SYS_PTRACE, as /proc/1/ns would: mountinfo is
 * world-readable, and mount ids are unique across namespaces. A namespace whose state cannot be
 * read is assumed to end.
 */

#include "kernel/instance/bpffs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/scope.h"

/* Inode numbers of the initial namespaces, enum init_ns_ino of linux/nsfs.h. That of the mount
 * namespace is fixed since Linux 6.18; before, no namespace has that number. */
#define PID_NS_INITIAL 0xeffffffcu
#define MNT_NS_INITIAL 0xeffffff8u

#define NETNS_FOLDER   "/run/netns" /* where `ip netns` keeps names */
#define COLUMNS_FIXED  6            /* of mountinfo, before the optional columns */

/* A line of mountinfo, proc_pid_mountinfo(5). */
struct mount_row {
	int id;
	const char *point;
	unsigned int peers, master; /* peer groups; 0: none */
	const char *type, *source;
};

static int row_parse(char *line, struct mount_row *out)
{
	char *rest = NULL, *word = strtok_r(line, " \n", &rest);
	struct mount_row row = {0};

	for (int column = 1; word && strcmp(word, "-") != 0; column++) {
		if (column == 1)
			row.id = atoi(word);
		else if (column == 5)
			row.point = word;
		else if (column > COLUMNS_FIXED && !sscanf(word, "shared:%u", &row.peers))
			sscanf(word, "master:%u", &row.master);
		word = strtok_r(NULL, " \n", &rest);
	}
	row.type = strtok_r(NULL, " \n", &rest);
	row.source = strtok_r(NULL, " \n", &rest);
	if (!row.point || !row.source)
		return -EPROTO;
	*out = row;
	return 0;
}

/* Does `is_it` hold for a mount in the file? False if the file cannot be read. */
static bool mounts_have(const char *file, bool (*is_it)(const struct mount_row *row, void *arg),
			void *arg)
{
	CLOSED_FILE FILE *mounts = fopen(file, "re");
	FREED char *line = NULL;
	struct mount_row row;
	size_t size = 0;

	while (mounts && getline(&line, &size, mounts) > 0)
		if (!row_parse(line, &row) && is_it(&row, arg))
			return true;
	return false;
}

/* 0 on error. */
static ino_t inode_of(const char *path)
{
	struct stat file;

	return stat(path, &file) ? 0 : file.st_ino;
}

/* ---- is it hidden? */

/* `ip netns exec NAME` mounts a new /sys for its command, with NAME as the source. */
static bool is_of_netns_exec(const struct mount_row *row, void *arg)
{
	char path[PATH_MAX];
	ino_t *netns = arg;

	if (strcmp(row->point, "/sys") != 0 || strcmp(row->type, "sysfs") != 0 ||
	    snprintf(path, sizeof(path), NETNS_FOLDER "/%s", row->source) >= (int)sizeof(path))
		return false;
	return inode_of(path) == *netns;
}

/* ---- does a mount outlast this command? */

/* The mount that a new mount would cover. */
struct base {
	int id;
	unsigned int peers;
};

static bool is_base(const struct mount_row *row, void *arg)
{
	struct base *base = arg;

	if (row->id != base->id)
		return false;
	base->peers = row->peers;
	return true;
}

/* Is it the same mount, or one that receives its mounts by propagation? */
static bool reaches(const struct mount_row *row, void *arg)
{
	const struct base *base = arg;

	return row->id == base->id ||
	       (base->peers && (row->peers == base->peers || row->master == base->peers));
}

static bool mount_lasts(const char *bpffs)
{
	CLOSED_FILE FILE *comm = fopen("/proc/1/comm", "re");
	char name[32] = "";
	struct statx folder;
	struct base base = {0};

	if (inode_of("/proc/self/ns/mnt") == MNT_NS_INITIAL)
		return true;
	if (inode_of("/proc/self/ns/pid") != PID_NS_INITIAL &&
	    (!comm || !fgets(name, sizeof(name), comm) || strcmp(name, "systemd\n") != 0))
		return false;
	if (statx(AT_FDCWD, bpffs, 0, STATX_MNT_ID, &folder) || !(folder.stx_mask & STATX_MNT_ID))
		return false;
	base.id = (int)folder.stx_mnt_id;
	mounts_have("/proc/self/mountinfo", is_base, &base);
	return mounts_have("/proc/1/mountinfo", reaches, &base);
}

/* ---- the states of a bpffs */

bool bpffs_mounted(const char *bpffs)
{
	struct statfs fs;

	return !statfs(bpffs, &fs) && fs.f_type == BPF_FS_MAGIC;
}

enum bpffs_state bpffs_state_read(const char *bpffs)
{
	ino_t netns = inode_of("/proc/self/ns/net");

	if (bpffs_mounted(bpffs))
		return BPFFS_MOUNTED;
	if (netns && mounts_have("/proc/self/mountinfo", is_of_netns_exec, &netns))
		return BPFFS_HIDDEN;
	if (access(bpffs, F_OK))
		return BPFFS_NO_FOLDER;
	return mount_lasts(bpffs) ? BPFFS_ABSENT : BPFFS_WOULD_END;
}

/* A mount would hide what is in the folder. */
static bool folder_is_empty(const char *path)
{
	CLOSED_DIR DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return dir;
}

static int bpffs_mount(const char *bpffs)
{
	const char *hint = ": run `mount -t bpf bpf DIR`, then use --bpffs DIR";
	int error;

	if (!mount("bpf", bpffs, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	error = errno;
	if (error == EPERM)
		hint = ": run as root";
	if (error == ENODEV)
		hint = ": this kernel is built without BPF (CONFIG_BPF_SYSCALL): use a "
		       "distribution's kernel";
	fail("%s is not a bpffs, and mounting one there failed: %s%s", bpffs, strerror(error),
	     hint);
	return -error;
}

int bpffs_ensure(const char *bpffs, bool make)
{
	switch (bpffs_state_read(bpffs)) {
	case BPFFS_MOUNTED:
		return 0;
	case BPFFS_HIDDEN:
		fail("%s is not a bpffs inside `ip netns exec`: use `rlctl -n NAME` outside of it "
		     "instead",
		     bpffs);
		return -ENODEV;
	case BPFFS_NO_FOLDER:
		fail("%s: no such directory: name the bpffs that holds the instances with --bpffs",
		     bpffs);
		return -ENOENT;
	case BPFFS_WOULD_END:
		if (!make)
			break;
		fail("%s is not a bpffs, and one mounted here may vanish with this command, and "
		     "the limiter with it: mount bpffs on the host and pass it in with -v %s:%s; "
		     "if this mount namespace lasts, run `mount -t bpf bpf %s` first",
		     bpffs, bpffs, bpffs, bpffs);
		return -ENODEV;
	case BPFFS_ABSENT:
		break;
	}
	if (make && folder_is_empty(bpffs))
		return bpffs_mount(bpffs);
	if (!make && !strcmp(bpffs, BPFFS_DEFAULT))
		return 0; /* nothing attached */
	fail("%s is not a bpffs (`mount -t bpf bpf DIR` mounts one): name one with --bpffs, or "
	     "leave it out",
	     bpffs);
	return -ENODEV;
}
