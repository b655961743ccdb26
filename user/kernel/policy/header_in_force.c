// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/policy/header_in_force.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/readers.h"
#include "kernel/scope.h"

int policy_header_read(const struct instance *instance, struct rl_policy_header *out)
{
	CLOSED int fd = inner_open(instance, instance->fd.policy, 0);

	return fd < 0 ? fd : map_get(fd, out);
}

uint64_t instance_generation(const struct instance *instance)
{
	struct rl_policy_header header;

	return policy_header_read(instance, &header) ? 0 : header.generation;
}

struct rl_policy_header *header_in_force_map(const struct instance *instance)
{
	CLOSED int fd = inner_open(instance, instance->fd.policy, 0);

	return fd < 0 ? NULL
		      : map_whole(fd, sizeof(struct rl_policy_header), PROT_READ | PROT_WRITE);
}

int packets_loads_order(void)
{
#ifdef __x86_64__
	return 0;
#else
	return readers_wait();
#endif
}

int policy_generation_add(const struct instance *instance)
{
	struct rl_policy_header *live = header_in_force_map(instance);
	int ret;

	if (!live)
		return -EAGAIN;
	ret = packets_loads_order();
	if (!ret)
		__atomic_add_fetch(&live->generation, 1, __ATOMIC_RELEASE);
	munmap(live, sizeof(*live));
	return ret;
}
