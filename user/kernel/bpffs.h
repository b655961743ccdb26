/* SPDX-License-Identifier: GPL-2.0-only */
/* The bpffs that holds the pins. */
#ifndef RLCTL_BPFFS_H
#define RLCTL_BPFFS_H

#include <stdbool.h>

/* 0 where a bpffs is mounted; with `make` mounts one where there is none and the mount would
 * outlast this command. Without, no bpffs is no error where none is hidden: nothing is attached.
 * Reports. */
int bpffs_ensure(const char *bpffs, bool make);

/* Is there a bpffs, and if not, what would attach do about it? Mounts nothing. */
enum bpffs_state {
	BPFFS_MOUNTED,
	BPFFS_ABSENT,    /* attach mounts one */
	BPFFS_WOULD_END, /* attach mounts none: the mount namespace may end before the limiter */
	BPFFS_HIDDEN,    /* by `ip netns exec` */
	BPFFS_NO_FOLDER
};
enum bpffs_state bpffs_look(const char *bpffs);
bool bpffs_mounted(const char *bpffs);

#endif
