/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns a manual alarm on and off, while packets read it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

struct alarm_pull {
	const char *name;
	bool on;
	uint64_t for_ns; /* then it goes off by itself; 0: it stays on */
};

/* The alarm of the policy in force, which is manual. One that is on stays so, for the new time.
 * *was_on: it was on before. With the writers' lock. 0; -ENOENT: the policy in force has no such
 * manual alarm; -EBUSY: packets do not leave the states; or another -errno. Silent. */
int alarm_pull(const struct instance *instance, const struct alarm_pull *pull, bool *was_on);
