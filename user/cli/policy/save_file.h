/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces a file as a whole, so that a reader or a crash finds the former or the new one. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "rlctl_abi.h"

/* Writes the text to the file. It keeps mode and owner of the former file, or gets mode 0640. If
 * `backup_wanted` says so of the former text, that is kept as PATH~, and *backup is true; both may
 * be NULL. An error changes neither file. A
 * symbolic link is followed if it belongs to root or to the caller. 0 or -1; reports. */
int file_save(const char *path, const char *text, size_t size,
	      bool (*backup_wanted)(const char *text, size_t size, const void *arg),
	      const void *arg, bool *backup);

/* Whether file_save() could begin. 0 or -1; reports. */
int file_save_check(const char *path);

/* The file of an instance, where none is named: FOLDER/[netns-NAME/]DEVICE[.HOOK].SUFFIX. */

#define OWNER_MAX (NAME_MAX + 64)

/* Refuses one that would be the file of two instances whose devices are there, and a network
 * namespace that has no name. `verb` is for the remedy. 0 or -1; reports. */
int instance_file_path(const char *verb, const char *folder, const char *device, enum rl_hook hook,
		       const char *suffix, char out[PATH_MAX]);

/* "eth0 at xdp", "eth0 at xdp in NETNS" */
void instance_file_owner(const char *device, enum rl_hook hook, char out[OWNER_MAX]);
