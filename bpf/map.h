/* SPDX-License-Identifier: GPL-2.0-only */
/* How a map is declared: its name, its kind (BPF_MAP_TYPE_…), and how many elements of which types.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MAP(name, kind, flags, entries, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, entries);                 \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")

/* One that is an element of others. By sizes, because clang 14 leaves types that only such maps
 * name out of the BTF. */
#define INNER_MAP(tag, kind, flags, entries, key_type, value_bytes) \
	struct tag {                                                \
		__uint(type, BPF_MAP_TYPE_##kind);                  \
		__uint(map_flags, flags);                           \
		__uint(max_entries, entries);                       \
		__uint(key_size, sizeof(key_type));                 \
		__uint(value_size, value_bytes);                    \
	}
#define MAP_OF_MAPS(name, entries, inner)                 \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, entries);             \
		__type(key, __u32);                       \
		__array(values, struct inner);            \
	} name SEC(".maps")

/* One whose values have no type of their size. */
#define SIZED_MAP(name, kind, flags, entries, key_type, value_bytes) \
	INNER_MAP(name##_map, kind, flags, entries, key_type, value_bytes) name SEC(".maps")

/* A number that user space sets before the map is made: user/kernel/attach/object.c. */
#define AT_ATTACH(default) (default)
