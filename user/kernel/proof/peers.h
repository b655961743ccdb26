/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter of peers (bpf/algorithm/peers.h): one for all instances of a network namespace, fed by
 * programs at the root of cgroup v2 (bpf/peers.bpf.c). Where these cannot be there, it is not fed,
 * and everything works without it.
 */
#pragma once

#include "kernel/instance/instance.h"

/* Makes it and has it fed, unless it is. 0 also where it cannot be fed. Silent. Call with the
 * writers' lock. */
int peers_make(const struct instance *instance);
/* The instance needs it no more, and is to have its map no longer. Silent. */
void peers_unfeed(const struct instance *instance);

/* 1: it is fed. 0: it is not. -ENOENT: the instance has none. Another negative errno: that could
 * not be read. */
int peers_fed(const struct instance *instance);

/* A descriptor of the root of cgroup v2, where every socket of the machine is. -ENOENT: it is not
 * mounted here. -EXDEV: what is mounted is not the root, but that of a cgroup namespace. */
int cgroup_root_open(void);
