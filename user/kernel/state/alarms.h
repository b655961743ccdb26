/* SPDX-License-Identifier: GPL-2.0-only */
/* The alarms of an instance: with its policy, and as they stand now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compile/compiled.h"
#include "kernel/instance/instance.h"
#include "policy/while.h"
#include "rlctl_abi.h"

struct alarm_now {
	char name[RL_ALARM_NAME_MAX + 1];
	bool on;
	uint64_t since_ns; /* CLOCK_MONOTONIC of the last change; 0: it has not been on yet */
	uint64_t changes;  /* times that it went on or off since it was defined */
	uint64_t counted;  /* packets or bytes since the policy was written */
	double rate;       /* of the last tenth that has ended: packets or bytes a second */
	bool manual;       /* it counts nothing: of the following, nothing is said */
	uint64_t ends_ns;  /* CLOCK_MONOTONIC at which it goes off by itself; 0: it does not */
	uint8_t unit;      /* enum rl_unit, as written; RL_BITS: counted and rate are bytes */
	struct rl_alarm_phase phase[2]; /* to go on, to go off */
	char comment[RL_COMMENT_MAX + 1];
};

struct alarms_now {
	uint32_t count;                        /* 0: the policy has none */
	struct alarm_now alarm[RL_ALARMS_MAX]; /* in the order of struct rl_alarms */
};

/* The alarms of the policy in force at this moment, also where no packet came that would have moved
 * them on. The instance is open with INSTANCE_MAPS_ALARMS. 0 or -errno; silent. */
int alarms_read(const struct instance *instance, struct alarms_now *out);

/* All alarms of the policy in force are off, and nothing is counted: for simulations. 0 or -errno;
 * silent. */
int alarms_restart(const struct instance *instance);

/* ---- turns a manual alarm on and off, while packets read it */

struct alarm_pull {
	const char *name;
	bool on;
	uint64_t for_ns; /* then it goes off by itself; 0: it stays on */
};

/* The alarm of the policy in force, which is manual. One that is on stays so, for the new time.
 * *was_on: it was on before. With the writers' lock. 0; -ENOENT: the policy in force has no such
 * manual alarm; -EBUSY: packets do not leave the states; or another -errno. Silent. */
int alarm_pull(const struct instance *instance, const struct alarm_pull *pull, bool *was_on);

/* ---- the alarms that are on now, for questions about rules (while.h). */

struct alarm_live {
	struct alarms_now now;
	struct alarm_states states; /* to be passed on; what could not be read is not known */
};

/* The instance is open with INSTANCE_MAPS_ALARMS. Silent. */
void alarm_live_read(const struct instance *instance, struct alarm_live *out);
