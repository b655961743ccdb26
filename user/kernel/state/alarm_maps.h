/* SPDX-License-Identifier: GPL-2.0-only */
/* The alarms of a policy in the maps: they come and go with its half, and their states go on where
 * the next policy has the same alarm. */
#pragma once

#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* Bytes of the element with the counts of all CPUs. */
uint32_t alarm_counts_size(const struct rl_instance *info);

/* Their words and states, into out->alarms, for out->header. 0 or -errno; silent, as all here. */
int alarms_get(const struct instance *instance, struct compiled *out);

/* The sum of all CPUs' counts of each. */
int alarm_counts_sum(const struct instance *instance, uint32_t half, uint64_t sums[RL_ALARMS_MAX]);

/* Makes the maps of the half that is being written; where its alarms are those in force, it gets
 * the same ones. */
int alarms_write(const struct instance *instance, const struct compiled *compiled);

/* The last step before the policy comes into force: alarms in new maps go on from those in force
 * (compiled->alarm_from). Packets counted between this step and that are lost, which is some system
 * calls later: such a time counts as silence. */
int alarms_go_on(const struct instance *instance, const struct compiled *compiled);
