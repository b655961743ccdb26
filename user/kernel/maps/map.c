// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/map.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/scope.h"
#include "rlctl_abi.h"

#define KEY_MAX 64 /* bytes; no map of ours has longer keys */
_Static_assert(sizeof(struct rl_state_key) <= KEY_MAX, "the longest one");

int map_get(int map_fd, void *out)
{
	return bpf_map_lookup_elem(map_fd, &(uint32_t){0}, out);
}

int map_put(int map_fd, const void *value)
{
	return bpf_map_update_elem(map_fd, &(uint32_t){0}, value, BPF_ANY);
}

int map_info(int map_fd, struct bpf_map_info *out)
{
	uint32_t size = sizeof(*out);

	*out = (struct bpf_map_info){0};
	return bpf_obj_get_info_by_fd(map_fd, out, &size);
}

int map_id(int map_fd, uint32_t *out)
{
	struct bpf_map_info info;
	int ret = map_info(map_fd, &info);

	if (!ret)
		*out = info.id;
	return ret;
}

int map_value_check(int map_fd, size_t size)
{
	struct bpf_map_info info;
	int ret = map_info(map_fd, &info);

	return ret || info.value_size == size ? ret : -EPROTO;
}

int map_memory_add(int map_fd, uint64_t *sum)
{
	char path[64], line[128];
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	CLOSED_FILE FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	*sum += bytes;
	return 0;
}

/* The next key is read first, because from a deleted key the walk would restart. */
int map_keys_remove(int map_fd, int (*remove)(const void *key, void *arg), void *arg)
{
	char key[KEY_MAX], next[KEY_MAX];
	int end = bpf_map_get_next_key(map_fd, NULL, key), ret = 0;

	for (; !end && !ret; memcpy(key, next, sizeof(key))) {
		end = bpf_map_get_next_key(map_fd, key, next);
		ret = remove ? remove(key, arg) : bpf_map_delete_elem(map_fd, key);
		ret = ret == -ENOENT ? 0 : ret;
	}
	return ret ? ret : end == -ENOENT ? 0 : end;
}

#define CHUNK 4096u /* entries that are read or written at once; fewer large ones */

int map_walk(int opened, map_entry_fn each, void *arg)
{
	CLOSED int fd = opened;
	struct bpf_map_info info;
	uint32_t chunk, cursor, *from = NULL;
	int ret = fd < 0 ? fd : map_info(fd, &info), end = 0, cpus = libbpf_num_possible_cpus();
	size_t size;

	if (ret || cpus < 0)
		return opened == -ENOENT ? 0 : ret ? ret : cpus;
	size = info.value_size;
	if (info.type == BPF_MAP_TYPE_PERCPU_HASH || info.type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		size *= cpus;
	chunk = size > 1024 ? CHUNK / 16 : CHUNK;
	FREED char *keys = calloc(chunk, info.key_size);
	FREED char *values = calloc(chunk, size);
	if (!keys || !values)
		return -ENOMEM;
	while (!ret && !end) {
		uint32_t n = chunk;

		end = bpf_map_lookup_batch(fd, from, &cursor, keys, values, &n, NULL);
		if (end && end != -ENOENT)
			return end;
		for (uint32_t i = 0; !ret && i < n; i++)
			ret = each(arg, keys + i * info.key_size, values + i * size);
		from = &cursor;
	}
	return ret;
}

int map_fill(int map_fd, const void *keys, size_t key_size, const void *values, size_t value_size,
	     uint32_t count, const char *noun)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	int ret = 0;

	for (uint32_t done = 0, n; !ret && done < count; done += n) {
		n = count - done < CHUNK ? count - done : CHUNK;
		ret = bpf_map_update_batch(map_fd, (const char *)keys + done * key_size,
					   (const char *)values + done * value_size, &n, &opts);
		if (noun)
			progress_report(done, noun, (int)((uint64_t)done * 1000 / count));
	}
	if (noun)
		progress_over();
	return ret;
}

int array_fill(int map_fd, uint32_t first, const void *values, size_t value_size, uint32_t count)
{
	FREED uint32_t *keys = calloc(count + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = first + i;
	return map_fill(map_fd, keys, sizeof(*keys), values, value_size, count, NULL);
}

int array_read(int map_fd, uint32_t first, void *out, size_t value_size, uint32_t count)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < count; i++)
		ret = bpf_map_lookup_elem(map_fd, &(uint32_t){first + i},
					  (char *)out + i * value_size);
	return ret;
}

void *map_whole(int map_fd, size_t size, int may)
{
	void *at = mmap(NULL, size, may, MAP_SHARED, map_fd, 0);

	return at == MAP_FAILED ? NULL : at;
}
