/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks the kernel whether namespaces and programs are still in use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does no network namespace have that inode number? False if unknown. */
bool netns_is_gone(uint32_t inode);

/* Does another user own libxdp's directory in the bpffs that has this path, or may others write to
 * it? Nothing is attached or removed there then. */
bool dispatchers_are_foreign(const char *path);

/* Number of stale dispatchers that run the instance's program; with `clear`, removes their pins,
 * and the kernel unloads the programs some time later. */
int stale_dispatchers(const char *path, bool clear);

/* The same of one that another program has replaced on the device. This process may hold it still:
 * libxdp 1.3.1 leaks descriptors where it fails. */
void replaced_dispatcher_remove(const char *path, int ifindex, uint32_t id);
