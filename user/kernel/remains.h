/* SPDX-License-Identifier: GPL-2.0-only */
/* Removes libxdp's pins of dispatchers that nothing but the pins holds. */
#ifndef RLCTL_REMAINS_H
#define RLCTL_REMAINS_H

#include <stdbool.h>

#include "liveness.h"

/* Number of stale dispatchers that run the instance's program; with `clear`, removes their pins,
 * and the kernel unloads the programs some time later. */
int xdp_remains(struct liveness *liveness, const char *path, bool clear);
void xdp_remains_clear(const char *path);

#endif
