// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/alarm_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/maps/map_in_map.h"

#define COPY_RETRIES 100
#define COPY_WAIT_NS 20000

uint32_t alarm_counts_size(const struct rl_instance *info)
{
	return info->possible_cpus * sizeof(struct rl_alarm_counts);
}

/* ---- reading */

static int element_read(int fd, void *out)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
}

/* Reads until two copies are the same: a packet may be at the states, for some microseconds. */
static int copy_read(int fd, struct rl_alarms *out)
{
	const struct timespec pause = {.tv_nsec = COPY_WAIT_NS};
	struct rl_alarms *again = malloc(sizeof(*again));
	int ret = again ? element_read(fd, out) : -ENOMEM;

	for (int i = 0; !ret && i < COPY_RETRIES; i++) {
		ret = element_read(fd, again);
		if (!ret && out->next_ns != ~0ull && !memcmp(out, again, sizeof(*out)))
			break;
		*out = *again;
		nanosleep(&pause, NULL);
	}
	free(again);
	return ret;
}

int alarms_copy(const struct instance *instance, uint32_t half, struct rl_alarms *out)
{
	int fd = inner_open(instance, instance->fd.alarms, half), ret;

	if (fd < 0)
		return fd;
	ret = copy_read(fd, out);
	close(fd);
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
	struct rl_alarm_counts *counts = malloc(alarm_counts_size(&instance->info));
	int fd = inner_open(instance, instance->fd.alarm_counts, half);
	int ret = counts ? (fd < 0 ? fd : element_read(fd, counts)) : -ENOMEM;

	memset(sums, 0, RL_ALARMS_MAX * sizeof(*sums));
	for (uint32_t cpu = 0; !ret && cpu < instance->info.possible_cpus; cpu++)
		for (uint32_t i = 0; i < RL_ALARMS_MAX; i++)
			sums[i] += counts[cpu].count[i];
	if (fd >= 0)
		close(fd);
	free(counts);
	return ret;
}

/* ---- writing */

static int element_make(const struct instance *instance, int outer, uint32_t half, const char *name,
			uint32_t size, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), size, 1, &opts), ret;

	if (fd < 0)
		return -errno;
	ret = inner_put(instance, outer, half, fd);
	close(fd);
	return ret;
}

static int element_write(const struct instance *instance, int outer, uint32_t half,
			 const void *value)
{
	int fd = inner_open(instance, outer, half), ret = 0;
	uint32_t zero = 0;

	if (fd < 0)
		return fd;
	if (bpf_map_update_elem(fd, &zero, value, BPF_ANY))
		ret = -errno;
	close(fd);
	return ret;
}

int alarms_write(const struct instance *instance, const struct compiled *compiled)
{
	uint32_t half = compiled->header.half;
	int ret;

	if (!compiled->alarms)
		return 0;
	if (compiled->alarms_same) { /* both halves have the same maps */
		ret = inner_share(instance, instance->fd.alarm_counts, half);
		return ret ? ret : inner_share(instance, instance->fd.alarms, half);
	}
	ret = element_make(instance, instance->fd.alarm_counts, half, "rlctl_alarmcnt",
			   alarm_counts_size(&instance->info), BPF_F_MMAPABLE);
	return ret ? ret
		   : element_make(instance, instance->fd.alarms, half, "rlctl_alarms",
				  sizeof(*compiled->alarms), BPF_F_MMAPABLE);
}

static bool goes_on(const struct compiled *compiled)
{
	for (uint32_t i = 0; i < compiled->alarms->count; i++)
		if (compiled->alarm_from[i])
			return true;
	return false;
}

/* The states of those in force, into the next ones and their counts. */
static int states_carry(const struct instance *instance, const struct compiled *compiled,
			struct rl_alarms *next, struct rl_alarm_counts *counts)
{
	struct rl_alarms *in_force = malloc(sizeof(*in_force));
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
	free(in_force);
	return ret;
}

/* next_ns is 0: the first packet looks at them all. */
int alarms_go_on(const struct instance *instance, const struct compiled *compiled)
{
	struct rl_alarm_counts *counts;
	struct rl_alarms *next;
	int ret = 0;

	if (!compiled->alarms || compiled->alarms_same)
		return 0;
	counts = calloc(1, alarm_counts_size(&instance->info));
	next = malloc(sizeof(*next));
	if (!counts || !next)
		ret = -ENOMEM;
	if (!ret)
		*next = *compiled->alarms;
	if (!ret && goes_on(compiled))
		ret = states_carry(instance, compiled, next, counts);
	if (!ret)
		ret = element_write(instance, instance->fd.alarm_counts, compiled->header.half,
				    counts);
	if (!ret)
		ret = element_write(instance, instance->fd.alarms, compiled->header.half, next);
	free(next);
	free(counts);
	return ret;
}

void alarms_drop(const struct instance *instance, uint32_t half)
{
	inner_drop(instance, instance->fd.alarms, half);
	inner_drop(instance, instance->fd.alarm_counts, half);
}
