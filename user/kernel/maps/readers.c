// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/readers.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/scope.h"

/* The kernel waits for all programs when an element of a map of maps is updated. */
static int map_update_wait(void)
{
	CLOSED int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rl_wait", sizeof(uint32_t),
					  sizeof(uint32_t), 1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = inner);
	CLOSED int outer = inner < 0 ? inner
				     : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rl_wait",
						      sizeof(uint32_t), sizeof(uint32_t), 1, &opts);
	uint32_t zero = 0;

	if (outer < 0)
		return outer;
	return bpf_map_update_elem(outer, &zero, &inner, BPF_ANY) ? -errno : 0;
}

int readers_wait(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	return map_update_wait();
}
