// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/prefix_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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

/* ---- the index: made with each whole policy: 4 MB, where a prefix has many rules. */

/* Reads the root of a range that has one, and lets the range lead to where it is in *out. */
static int root_read(int fd, struct rl_range *range, struct compiled *out)
{
	struct rl_index_entry *root = &out->index.entries[out->index.count];

	if (!range->count || range->match_mode != RL_MATCH_MODE_INDEXED)
		return 0;
	if (bpf_map_lookup_elem(fd, &range->first, root))
		return -errno;
	range->first = out->index.count++;
	return 0;
}

int index_roots_read(const struct instance *instance, struct compiled *out)
{
	int ret, fd;

	if (!(out->header.uses & RL_USE_INDEX))
		return 0;
	out->index.entries =
		calloc(out->prefix_count + 2 + RL_SETS_MAX, sizeof(*out->index.entries));
	if (!out->index.entries)
		return -ENOMEM;
	fd = inner_open(instance, instance->fd.rule_index, out->header.half);
	if (fd < 0)
		return fd;
	ret = root_read(fd, &out->header.device, out);
	if (!ret)
		ret = root_read(fd, &out->header.any, out);
	for (uint32_t i = 0; !ret && i < out->prefix_count; i++)
		ret = root_read(fd, &out->prefixes[i].value.range, out);
	for (uint32_t i = 0; !ret && out->groups && i < RL_SETS_MAX; i++)
		ret = root_read(fd, &out->groups->range[i], out);
	close(fd);
	return ret;
}

static int index_fill(int fd, const struct index *index)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t *keys = calloc(index->count, sizeof(*keys)), written = index->count;
	int ret;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->count; i++)
		keys[i] = i;
	ret = bpf_map_update_batch(fd, keys, index->entries, &written, &opts) ? -errno : 0;
	free(keys);
	return ret;
}

int index_write(const struct instance *instance, const struct compiled *compiled)
{
	const struct index *index = &compiled->index;
	int fd, ret;

	if (!index->count)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_index", sizeof(uint32_t),
			    sizeof(struct rl_index_entry), RL_INDEX_MAX, NULL);
	if (fd < 0)
		return -errno;
	ret = index_fill(fd, index);
	if (!ret)
		ret = inner_put(instance, instance->fd.rule_index, compiled->header.half, fd);
	close(fd);
	return ret;
}
