/* SPDX-License-Identifier: GPL-2.0-only */
/* A Redis of the test's own with the fleet's scripts, whose clock the test sets. */
#pragma once

#include "fleet/link.h"

/* cmocka's, for a group of tests. */
int fleet_redis_start(void **state);
int fleet_redis_stop(void **state);

/* A connection of its own; link_close() ends it. */
void fleet_redis_connect(struct fleet_link *out);

void fleet_redis_time(uint64_t now_ns);
void fleet_redis_clear(void);
