/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the properties of a device from netlink, for device.c only. 0 or a negative errno. Silent.
 */
#pragma once

#include <stdint.h>

#include "kernel/device/device_facts.h"

/* MTU, address, flags, queues and losses of the device facts->ifindex. */
int device_link_read(struct device_facts *facts);

/* -ENOENT on kernels that do not report them. */
int device_xdp_read(int ifindex, uint64_t *features);
