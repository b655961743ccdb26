/* SPDX-License-Identifier: GPL-2.0-only */
/* The pins of libxdp's dispatchers that nothing else holds. */
#ifndef RLCTL_REMAINS_H
#define RLCTL_REMAINS_H

#include <stdbool.h>

#include "liveness.h"

/* How many dispatchers have the instance's program behind them; with `clear` their pins go, and the
 * programs some time later. */
int xdp_remains(struct liveness *liveness, const char *path, bool clear);
void xdp_remains_clear(const char *path);

#endif
