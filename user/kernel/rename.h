/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins follow a device that was renamed. */
#ifndef RLCTL_RENAME_H
#define RLCTL_RENAME_H

#include <stdbool.h>

#include "instance.h"

/* <bpffs>/rlctl/<netns inode>, as pins_root; and pins of devices that have another name by now get
 * that name, which is said. Reports. */
int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);

#endif
