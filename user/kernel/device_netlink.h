/* SPDX-License-Identifier: GPL-2.0-only */
/* What netlink says of a device; for device.c alone. 0 or a negative errno, silent. */
#ifndef RLCTL_DEVICE_NETLINK_H
#define RLCTL_DEVICE_NETLINK_H

#include <stdint.h>

#include "device.h"

/* MTU, flags, queues and losses of the device facts->ifindex. */
int device_link_read(struct device_facts *facts);

/* -ENOENT on kernels that do not tell. */
int device_xdp_read(int ifindex, uint64_t *features);

#endif
