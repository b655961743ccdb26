// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/prefix_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "compile/compile.h"
#include "kernel/maps/map_in_map.h"

static int guide_create(const struct rl_prefix_guide *guide)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_guide", sizeof(uint32_t), sizeof(*guide),
				1, &opts);
	uint32_t zero = 0;

	if (fd < 0)
		return -errno;
	if (!bpf_map_update_elem(fd, &zero, guide, BPF_ANY))
		return fd;
	close(fd);
	return -errno;
}

int prefix_guide_write(const struct instance *instance, const struct compiled *compiled)
{
	struct rl_prefix_guide *guide;
	int fd, ret;

	if (!compiled->prefix_count)
		return 0;
	guide = calloc(1, sizeof(*guide));
	if (!guide)
		return -ENOMEM;
	for (uint32_t i = 0; i < compiled->prefix_count; i++)
		prefix_guide_add(guide, instance->info.hot_seed, &compiled->prefixes[i].key);
	fd = guide_create(guide);
	free(guide);
	if (fd < 0)
		return fd;
	ret = inner_put(instance, instance->fd.guides, compiled->header.half, fd);
	close(fd);
	return ret;
}

int prefix_guide_extend(const struct instance *instance, uint32_t half,
			const struct rl_prefix_key *prefix)
{
	int fd = inner_open(instance, instance->fd.guides, half);
	struct rl_prefix_guide *guide;

	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	guide = mmap(NULL, sizeof(*guide), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (guide == MAP_FAILED)
		return -errno;
	prefix_guide_add(guide, instance->info.hot_seed, prefix);
	munmap(guide, sizeof(*guide));
	return 0;
}
