/* SPDX-License-Identifier: GPL-2.0-only */
/* A device and those on top of it, in its network namespace: bridge, bond, VLANs, macvlans. Silent.
 */
#pragma once

#include <linux/if_ether.h>
#include <stdbool.h>
#include <stdint.h>

#define DEVICE_STACK_MAX 64

struct device_stack {
	int ifindex[DEVICE_STACK_MAX];               /* the device itself first */
	uint8_t address[DEVICE_STACK_MAX][ETH_ALEN]; /* of Ethernet; 0: there is none */
	int count;
};

/* 0 or a negative errno; -E2BIG: there are more. */
int device_stack_read(int ifindex, struct device_stack *out);
bool device_stack_has(const struct device_stack *stack, int ifindex);
