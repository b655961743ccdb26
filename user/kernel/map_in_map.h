/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps in the slots of maps, and their pins. */
#ifndef RLCTL_MAP_IN_MAP_H
#define RLCTL_MAP_IN_MAP_H

#include <stdint.h>

#include "instance.h"

/* The map in a slot of an array of maps, or -ENOENT; -ESTALE: the instance was detached. */
int inner_open(const struct instance *instance, int outer_fd, uint32_t slot);
/* Puts a map into a slot in place of the one that is there, or leaves that one there. */
int inner_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd);
/* Puts maps into slots that are empty, from `first` on. */
#define INNER_ADD_MAX 64
int inner_add(const struct instance *instance, int outer_fd, uint32_t first, const int *fds,
	      uint32_t count);
void inner_drop(const struct instance *instance, int outer_fd, uint32_t slot);
/* Unpins what the slots do not name: a writer was killed. For writers. */
void inner_tidy(const struct instance *instance);

#endif
