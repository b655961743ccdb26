/* SPDX-License-Identifier: GPL-2.0-only */
/* One map: its only element, what the kernel says of it, its memory. Silent; 0 or a negative errno.
 */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* Element 0, of a map that may have no other. */
int map_get(int map_fd, void *out);
int map_put(int map_fd, const void *value);

int map_info(int map_fd, struct bpf_map_info *out);
int map_id(int map_fd, uint32_t *out);
/* -EPROTO if the map's values have another size. */
int map_value_check(int map_fd, size_t size);
/* Adds the memory that the kernel accounts for the map, in bytes. */
int map_memory_add(int map_fd, uint64_t *sum);
/* Deletes every key, by `remove` unless that is NULL. */
int map_keys_remove(int map_fd, int (*remove)(const void *key, void *arg), void *arg);
/* Calls `each` for the entries of a hash map until it returns something else than 0, and returns
 * that; it may remove the entry. Per-CPU values follow one another. Takes the map as it was opened,
 * and closes it: one that is not there (-ENOENT) has no entry. */
typedef int (*map_entry_fn)(void *arg, const void *key, const void *value);
int map_walk(int opened, map_entry_fn each, void *arg);
/* Writes `count` elements from arrays of keys and values, in batches, or of an array from `first`
 * on. noun: names them in the progress that is reported; NULL: none is. */
int map_fill(int map_fd, const void *keys, size_t key_size, const void *values, size_t value_size,
	     uint32_t count, const char *noun);
int array_fill(int map_fd, uint32_t first, const void *values, size_t value_size, uint32_t count);
/* Reads elements of an array. */
int array_read(int map_fd, uint32_t first, void *out, size_t value_size, uint32_t count);
/* Maps its elements, `size` bytes; `may`: PROT_*. NULL with errno. */
void *map_whole(int map_fd, size_t size, int may);
