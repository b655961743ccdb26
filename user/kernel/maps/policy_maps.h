/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps that are there while the policy uses them. They are plain maps of the program, which refers
 * to them only then (RL_USE_PROGRAM): each is made before the program that has it is loaded, and
 * its pin, of the same name, stays as long as a program may have it. A reader opens one on access,
 * because a policy may bring or end it at any time. */
#pragma once

#include <stdbool.h>
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
/* The same in the place of one that is there: whoever opens it finds the one or the other. */
int policy_map_exchange(const struct instance *instance, enum policy_map map, int fd);
/* Those of an instance without pins. */
void policy_maps_close(const struct instance *instance);
/* Gives a new pin the group that may read the instance. */
int policy_map_share(const struct instance *instance, enum policy_map map);
void policy_map_drop(const struct instance *instance, enum policy_map map);

/* ---- the rules array, which grows with the policy. It is a plain map of the program, so that a
 * larger one brings another program (kernel/attach/program_fit.c). It is opened to read or write
 * rules, after what leads to them was read. */

/* Elements of one half of it. 0 or a negative errno. */
int rules_room(const struct instance *instance, uint32_t *out);

/* Puts one with so many, and the same rules, in its place. */
int rules_grow(const struct instance *instance, uint32_t room);
