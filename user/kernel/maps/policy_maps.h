/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps that are there while the policy uses them. They are plain maps of the program, which refers
 * to them only then (RL_USE_PROGRAM): each is made before the program that has it is loaded, and
 * its pin, of the same name, stays as long as a program may have it. A reader opens one on access,
 * because a policy may bring or end it at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* Does an instance have this map, while what it uses (RL_USE_*, of its program or of its policy) is
 * this? */
bool policy_map_is_used(const struct rl_instance *info, uint64_t uses, enum policy_map map);

/* -ENOENT: it is not there, or is new and a reader may not open it yet; -ESTALE: the instance was
 * detached. */
int policy_map_open(const struct instance *instance, enum policy_map map);
/* Takes what the map was created as, which becomes its pin; the descriptor stays the caller's. */
int policy_map_put(const struct instance *instance, enum policy_map map, int fd);
/* Those of an instance without pins. */
void policy_maps_close(const struct instance *instance);
/* Gives a new pin the group that may read the instance. */
int policy_map_share(const struct instance *instance, enum policy_map map);
/* Deletes every key, where the map is there. */
int policy_map_empty(const struct instance *instance, enum policy_map map);
void policy_map_drop(const struct instance *instance, enum policy_map map);

/* ---- the rules array, which grows with the policy. It is a plain map of the program, so that a
 * larger one brings another program (kernel/attach/program_fit.c). It is opened to read or write
 * rules, after what leads to them was read. */

/* Elements of one half of it. 0 or a negative errno. */
int rules_room(const struct instance *instance, uint32_t *out);

/* Puts one with so many, and the same rules, in its place. */
int rules_grow(const struct instance *instance, uint32_t room);

/* ---- a table that all instances of a network namespace share: what this machine asks, its peers,
 * and accounts. The former are one element of an array, as of the filter of known sources, so that
 * no set of it lies in two cache lines; accounts are a hash map.
 */

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

/* That of the instance pinned at path; -ENOENT also where its device has gone to another network
 * namespace. */
int shared_table_open_at(const char *path, const char *device, const struct shared_table *table);

/* Calls `each` for the other instances of the namespace until it returns something else than
 * -ENOENT, and returns that. */
typedef int (*shared_other_fn)(const char *path, const char *device, void *arg);
int shared_others(const struct instance *instance, shared_other_fn each, void *arg);
