/* SPDX-License-Identifier: GPL-2.0-only */
/* A table that all instances of a network namespace share: what this machine asks, its peers, and
 * accounts. The former are one element of an array, as of the filter of known sources, so that no
 * set of it lies in two cache lines; accounts are a hash map.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

struct shared_table {
	enum policy_map map; /* of each instance */
	const char *name;
	size_t size, seed; /* the element's, and where its seed of two words is */
	uint32_t entries;  /* of a hash map by a word, without a seed; 0: it is an array of one */
};

#define SHARED_TABLE(name_, type)                                                \
	{                                                                        \
		.map = POLICY_MAP_##name_, .name = #name_, .size = sizeof(type), \
		.seed = offsetof(type, seed),                                    \
	}

/* Gives the instance that of the others, else a new one, unless it has one. Call with the writers'
 * lock. */
int shared_table_make(const struct instance *instance, const struct shared_table *table);

/* That of the instance; -ENOENT if it has none. */
int shared_table_open(const struct instance *instance, const struct shared_table *table);
/* That of the instance pinned at path; -ENOENT also where its device has gone to another network
 * namespace. */
int shared_table_open_at(const char *path, const char *device, const struct shared_table *table);

/* Calls `each` for the other instances of the namespace until it returns something else than
 * -ENOENT, and returns that. */
typedef int (*shared_other_fn)(const char *path, const char *device, void *arg);
int shared_others(const struct instance *instance, shared_other_fn each, void *arg);

/* The lock of all instances; pins_unlock(). */
int shared_lock(const struct instance *instance);
