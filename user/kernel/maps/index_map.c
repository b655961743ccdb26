// SPDX-License-Identifier: GPL-2.0-only
/* The index is made with each whole policy: 4 MB, where a prefix has many rules. */
#include "kernel/maps/prefix_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/maps/map_in_map.h"

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
