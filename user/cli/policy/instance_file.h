/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of an instance, where none is named: FOLDER/[netns-NAME/]DEVICE[.HOOK].SUFFIX. */
#pragma once

#include <limits.h>

#include "rlctl_abi.h"

#define OWNER_MAX (NAME_MAX + 64)

/* Refuses one that would be the file of two instances whose devices are there, and a network
 * namespace that has no name. `verb` is for the remedy. 0 or -1; reports. */
int instance_file_path(const char *verb, const char *folder, const char *device, enum rl_hook hook,
		       const char *suffix, char out[PATH_MAX]);

/* "eth0 at xdp", "eth0 at xdp in NETNS" */
void instance_file_owner(const char *device, enum rl_hook hook, char out[OWNER_MAX]);
