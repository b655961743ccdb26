/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries one map: id, value size, memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int map_id(int map_fd, uint32_t *out);
/* -EPROTO if the map's values have another size. */
int map_value_check(int map_fd, size_t size);
/* Adds the memory that the kernel accounts for the map, in bytes. */
int map_memory_add(int map_fd, uint64_t *sum);
