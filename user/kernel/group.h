/* SPDX-License-Identifier: GPL-2.0-only */
/* The group that may read an instance. */
#ifndef RLCTL_GROUP_H
#define RLCTL_GROUP_H

#include <sys/types.h>

#include "instance.h"

/* The group whose members may read the instance; -ENOENT where there is none. Silent. */
int instance_group(const struct instance *instance, gid_t *out);
/* From now on it is this one. */
int instance_group_set(const struct instance *instance, gid_t group);

/* The folder and all in it may be read by the group. Reports. */
int group_give(const char *path, const char *device, gid_t group);
/* A new pin or folder in it is given what the folder says. Silent. */
int group_inherit(const char *path, const char *name);

#endif
