/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the bpffs that holds the pins, and mounts one if that is safe. */
#pragma once

#include <stdbool.h>

#define BPFFS_DEFAULT "/sys/fs/bpf"

/* 0 if a bpffs is mounted. With `make`, mounts a missing one if the mount outlasts this
 * command and hides no files.
 * Without `make`, a missing bpffs is an error if `ip netns exec` hides it or if it is not the
 * usual one; otherwise nothing is attached. Reports. */
int bpffs_ensure(const char *bpffs, bool make);

/* State of the bpffs; changes nothing. */
enum bpffs_state {
	BPFFS_MOUNTED,
	BPFFS_ABSENT,    /* attach mounts one */
	BPFFS_WOULD_END, /* attach refuses: the mount namespace may end before the instance */
	BPFFS_HIDDEN,    /* hidden by `ip netns exec` */
	BPFFS_NO_FOLDER
};
enum bpffs_state bpffs_state_read(const char *bpffs);
bool bpffs_mounted(const char *bpffs);
