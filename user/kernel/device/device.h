/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the properties of a network device: link, driver, offloads, queues. Uses netlink and
 * ethtool's ioctl, because /sys/class/net belongs to another namespace under -n. Changes nothing.
 */
#pragma once

#include "kernel/device/device_facts.h"

/* Only what RTM_GETLINK returns: index, MTU, flags, queues, losses and link type. 0 or a negative
 * errno. Silent. */
int device_link_facts(const char *name, struct device_facts *out);

/* All fields. 0 or a negative errno. Silent. */
int device_facts_read(const char *name, struct device_facts *out);

/* Calls `visit` for every device except loopback until it returns non-zero, and returns that. */
int device_for_each(int (*visit)(const char *name, void *arg), void *arg);

/* Interface index, -ENODEV if there is no device of that name, or another negative errno. */
int device_index(const char *device);
