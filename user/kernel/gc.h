/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins that belong to nothing any more. */
#ifndef RLCTL_GC_H
#define RLCTL_GC_H

#include "rlctl_abi.h"

/* Clears the pins of namespaces that are gone; `root` is this namespace's folder. Silent. */
void pins_sweep(const char *root);

/* Pins that belong to nothing any more: calls `visit` with the path and, where it is of this
 * namespace, the device. Not those that another process is at work on. */
void pins_leftovers(const char *bpffs,
		    void (*visit)(const char *path, const char *device, enum rl_hook hook,
				  void *arg),
		    void *arg);

#endif
