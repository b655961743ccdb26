/* SPDX-License-Identifier: GPL-2.0-only */
/* Removes libxdp's pins of dispatchers that nothing but the pins holds. */
#ifndef RLCTL_STALE_DISPATCHERS_H
#define RLCTL_STALE_DISPATCHERS_H

#include <stdbool.h>

#include "liveness.h"

/* Number of stale dispatchers that run the instance's program; with `clear`, removes their pins,
 * and the kernel unloads the programs some time later. */
int stale_dispatchers(struct liveness *liveness, const char *path, bool clear);
void stale_dispatchers_remove(const char *path);

#endif
