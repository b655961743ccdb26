/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives a group read access to the pins of an instance. */
#pragma once

#include <sys/types.h>

#include "kernel/instance/instance.h"

/* The group with read access to the pins at path; -ENOENT if there is none. Silent. */
int group_read(const char *path, gid_t *out);

/* Gives the group read access to the directory and everything in it. Reports. */
int group_give(const char *path, const char *device, gid_t group);
/* After the removal of an instance: takes back what its group needed of the directories above,
 * where no other instance needs it. Call without the lock of all. Silent. */
void group_way_close(const char *path);
/* Gives a new pin or directory the group of its directory. Silent. */
int group_inherit(const char *path, const char *name);
/* Pins it by that name in the directory of an instance, for its group as well. Silent. */
int group_pin(const char *path, const char *name, int fd);
