// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/prefix_maps.h"

#include <errno.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "compile/compile.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/scope.h"

int prefix_guide_write(const struct instance *instance, const struct compiled *compiled)
{
	const struct inner_map map = {"rlctl_guide", sizeof(struct rl_prefix_guide),
				      BPF_F_MMAPABLE};
	FREED struct rl_prefix_guide *guide = NULL;

	if (!compiled->prefix_count)
		return 0;
	guide = calloc(1, sizeof(*guide));
	if (!guide)
		return -ENOMEM;
	for (uint32_t i = 0; i < compiled->prefix_count; i++)
		prefix_guide_add(guide, instance->info.hot_seed, &compiled->prefixes[i].key);
	return inner_make(instance, instance->fd.guides, compiled->header.half, &map, guide);
}

int prefix_guide_extend(const struct instance *instance, uint32_t half,
			const struct rl_prefix_key *prefix)
{
	CLOSED int fd = inner_open(instance, instance->fd.guides, half);
	struct rl_prefix_guide *guide;

	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	guide = map_whole(fd, sizeof(*guide), PROT_READ | PROT_WRITE);
	if (!guide)
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
	int ret;

	if (!range->count || range->match_mode != RL_MATCH_MODE_INDEXED)
		return 0;
	ret = bpf_map_lookup_elem(fd, &range->first, root);
	if (!ret)
		range->first = out->index.count++;
	return ret;
}

int index_roots_read(const struct instance *instance, struct compiled *out)
{
	int ret;

	if (!(out->header.uses & RL_USE_INDEX))
		return 0;
	out->index.entries =
		calloc(out->prefix_count + 2 + RL_SETS_MAX, sizeof(*out->index.entries));
	if (!out->index.entries)
		return -ENOMEM;
	CLOSED int fd = inner_open(instance, instance->fd.rule_index, out->header.half);
	ret = fd < 0 ? fd : root_read(fd, &out->header.device, out);
	if (!ret)
		ret = root_read(fd, &out->header.any, out);
	for (uint32_t i = 0; !ret && i < out->prefix_count; i++)
		ret = root_read(fd, &out->prefixes[i].value.range, out);
	for (uint32_t i = 0; !ret && out->groups && i < RL_SETS_MAX; i++)
		ret = root_read(fd, &out->groups->range[i], out);
	return ret;
}

int index_write(const struct instance *instance, const struct compiled *compiled)
{
	const struct index *index = &compiled->index;
	int ret;

	if (!index->count)
		return 0;
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_index", sizeof(uint32_t),
				       sizeof(*index->entries), RL_INDEX_MAX, NULL);
	ret = fd < 0 ? fd
		     : array_fill(fd, 0, index->entries, sizeof(*index->entries), index->count);
	return ret ? ret : inner_put(instance, instance->fd.rule_index, compiled->header.half, fd);
}
