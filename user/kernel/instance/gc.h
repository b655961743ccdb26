/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds and removes pins that no instance uses. */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

/* Removes the pins of deleted network namespaces; `root` is this namespace's directory. Silent. */
void pins_gc(const char *root);

/* The program of these pins is on no device of this namespace: does it run in another one, to which
 * its device was moved? False if unknown. Waits a moment for one that is being unloaded. Silent. */
bool instance_is_elsewhere(const char *path);

/* Calls `visit` for the directory of every unused instance, with its device if it belongs to this
 * namespace, else NULL. Skips directories that another process has locked. Silent. */
typedef void pins_visit_fn(const char *path, const char *device, enum rl_hook hook, void *arg);
void pins_leftovers(const char *bpffs, pins_visit_fn *visit, void *arg);

/* Restores the qdiscs of an instance whose program is detached, then removes its pins, with their
 * lock held. Silent. */
int instance_clean(const char *path, const char *device);

/* Removes the pins of detached instances at all hooks of the device but one. Call with no lock
 * held, as an attach or a detach may be in progress. Silent. */
void hooks_clear(const char *root, const char *device, enum rl_hook except);

/* Removes the pins of detached instances whose devices are gone. `root` as pins_root_follow() set
 * it; call with no lock held. True: some are left, as their programs are in use, perhaps in another
 * namespace, or are being unloaded. Silent. */
bool gone_devices_clear(const char *root);
