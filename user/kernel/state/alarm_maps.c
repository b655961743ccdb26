// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/alarm_maps.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/scope.h"

#define COPY_RETRIES 100
#define COPY_WAIT_NS 20000

uint32_t alarm_counts_size(const struct rl_instance *info)
{
	return info->possible_cpus * sizeof(struct rl_alarm_counts);
}

/* ---- reading */

/* Those of one half, at one moment. Reads until two copies are the same: a packet may be at the
 * states, for some microseconds. -ENOENT: the half has none. */
static int alarms_copy(const struct instance *instance, uint32_t half, struct rl_alarms *out)
{
	const struct timespec pause = {.tv_nsec = COPY_WAIT_NS};
	CLOSED int fd = inner_open(instance, instance->fd.alarms, half);
	FREED struct rl_alarms *again = malloc(sizeof(*again));
	int ret = fd < 0 ? fd : again ? map_get(fd, out) : -ENOMEM;

	for (int i = 0; !ret && i < COPY_RETRIES; i++) {
		ret = map_get(fd, again);
		if (!ret && out->next_ns != ~0ull && !memcmp(out, again, sizeof(*out)))
			break;
		*out = *again;
		nanosleep(&pause, NULL);
	}
	return ret;
}

int alarms_get(const struct instance *instance, struct compiled *out)
{
	if (!(out->header.uses & RL_USE_ANY_ALARMS))
		return 0;
	out->alarms = calloc(1, sizeof(*out->alarms));
	return out->alarms ? alarms_copy(instance, out->header.half, out->alarms) : -ENOMEM;
}

int alarm_counts_sum(const struct instance *instance, uint32_t half, uint64_t sums[RL_ALARMS_MAX])
{
	FREED struct rl_alarm_counts *counts = malloc(alarm_counts_size(&instance->info));
	CLOSED int fd = inner_open(instance, instance->fd.alarm_counts, half);
	int ret = !counts ? -ENOMEM : fd < 0 ? fd : map_get(fd, counts);

	memset(sums, 0, RL_ALARMS_MAX * sizeof(*sums));
	for (uint32_t cpu = 0; !ret && cpu < instance->info.possible_cpus; cpu++)
		for (uint32_t i = 0; i < RL_ALARMS_MAX; i++)
			sums[i] += counts[cpu].count[i];
	return ret;
}

/* ---- writing */

int alarms_write(const struct instance *instance, const struct compiled *compiled)
{
	const struct instance_maps *fd = &instance->fd;
	const struct inner_map counts = {"rlctl_alarmcnt", alarm_counts_size(&instance->info),
					 BPF_F_MMAPABLE};
	const struct inner_map alarms = {"rlctl_alarms", sizeof(*compiled->alarms), BPF_F_MMAPABLE};
	uint32_t half = compiled->header.half;
	int ret;

	if (!compiled->alarms)
		return 0;
	if (compiled->alarms_same) { /* both halves have the same maps */
		ret = inner_share(instance, fd->alarm_counts, half);
		return ret ? ret : inner_share(instance, fd->alarms, half);
	}
	ret = inner_make(instance, fd->alarm_counts, half, &counts, NULL);
	return ret ? ret : inner_make(instance, fd->alarms, half, &alarms, NULL);
}

/* The states of those in force, into the next ones and their counts. */
static int states_carry(const struct instance *instance, const struct compiled *compiled,
			struct rl_alarms *next, struct rl_alarm_counts *counts)
{
	FREED struct rl_alarms *in_force = malloc(sizeof(*in_force));
	uint32_t half = !compiled->header.half;
	uint64_t sums[RL_ALARMS_MAX];
	int ret = in_force ? alarms_copy(instance, half, in_force) : -ENOMEM;

	if (!ret)
		ret = alarm_counts_sum(instance, half, sums);
	next->uneasy_ns = ret ? 0 : in_force->uneasy_ns;
	for (uint32_t i = 0; !ret && i < next->count; i++) {
		uint8_t from = compiled->alarm_from[i];

		if (!from || from > in_force->count)
			continue;
		next->alarm[i].state = in_force->alarm[from - 1].state;
		if (next->alarm[i].manual) /* how long it was turned on for */
			next->alarm[i].phase[1] = in_force->alarm[from - 1].phase[1];
		next->on |= (next->alarm[i].state.on & 1) << i;
		counts->count[i] = sums[from - 1];
	}
	return ret;
}

/* next_ns is 0: the first packet looks at them all. */
int alarms_go_on(const struct instance *instance, const struct compiled *compiled)
{
	uint32_t half = compiled->header.half;
	bool go_on = false;
	int ret = 0;

	if (!compiled->alarms || compiled->alarms_same)
		return 0;
	FREED struct rl_alarm_counts *counts = calloc(1, alarm_counts_size(&instance->info));
	FREED struct rl_alarms *next = malloc(sizeof(*next));
	if (!counts || !next)
		return -ENOMEM;
	*next = *compiled->alarms;
	for (uint32_t i = 0; i < compiled->alarms->count; i++)
		go_on |= compiled->alarm_from[i];
	if (go_on)
		ret = states_carry(instance, compiled, next, counts);
	CLOSED int counts_fd = inner_open(instance, instance->fd.alarm_counts, half);
	CLOSED int fd = inner_open(instance, instance->fd.alarms, half);
	if (!ret)
		ret = counts_fd < 0 ? counts_fd : map_put(counts_fd, counts);
	if (!ret)
		ret = fd < 0 ? fd : map_put(fd, next);
	return ret;
}
