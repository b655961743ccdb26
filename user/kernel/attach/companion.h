/* SPDX-License-Identifier: GPL-2.0-only */
/* The companion of an instance: a program at egress of its device, which notes what this machine
 * asks, so that answers are established (bpf/sent.bpf.c). It is there as long as the policy in
 * force asks whether UDP or ICMP is established (instance_asks). It lets every packet go on. */
#pragma once

#include <stdbool.h>

#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* Attaches it unless it is there, and notes it in *info and the instance map. Reports. */
int companion_attach(const struct instance *instance, struct rl_instance *info);
/* Replaces it by this version's. Reports. */
int companion_replace(const struct instance *instance, struct rl_instance *info);
/* Detaches it and the clsact that it needed, and notes that. Reports. */
int companion_detach(const struct instance *instance, struct rl_instance *info);

/* Detaches that of an instance whose own program is gone. Silent. */
int companion_remove(const struct instance *instance);

/* That of the instance pinned at path; -ENOENT if it is not on the device. */
int companion_find(const char *path, const char *device, struct device_program *out);
/* Is the link pinned there detached? Needs no capability but that of the pin. */
bool companion_is_dead(const char *path);
