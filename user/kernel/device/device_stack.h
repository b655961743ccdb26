/* SPDX-License-Identifier: GPL-2.0-only */
/* A device and those on top of it, in its network namespace: bridge, bond, VLANs, macvlans. Silent.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/packets/decide.h"

#define DEVICE_STACK_MAX 64

struct device_stack {
	int ifindex[DEVICE_STACK_MAX];               /* the device itself first */
	uint8_t address[DEVICE_STACK_MAX][ETH_ALEN]; /* of Ethernet; 0: there is none */
	int count;
};

/* 0 or a negative errno; -E2BIG: there are more. */
int device_stack_read(int ifindex, struct device_stack *out);
bool device_stack_has(const struct device_stack *stack, int ifindex);

/* ---- the kinds of devices whose packets travel within others. */

/* Attributes of IFLA_INFO_DATA; 0: it has none, or one that is of no use. */
struct tunnel_kind {
	const char *name;
	uint8_t proto; /* of the outer packets; IPPROTO_IPIP: that or IPPROTO_IPV6 */
	uint8_t local, remote, local6, remote6;
	uint8_t port; /* to which packets are sent, at both ends */
};

/* The kind of the device that a message of RTM_GETLINK describes; NULL: it is no tunnel. */
const struct tunnel_kind *tunnel_kind_of(const struct nlmsghdr *link);

/* ---- which device a connection of this machine uses */

/* Whether packets of the flow, from another machine to this one, may pass the device: the flow's
 * destination, or the way back to its source, belongs to the device or to one on top of it (bridge,
 * bond, VLAN); `unknown` if that cannot be found out. Silent. */
bool device_carries(int ifindex, const struct flow *flow, bool unknown);

/* The way of answers to a flow. */
struct route_back {
	int ifindex; /* 0: there is none */
	bool has_local;
	uint8_t local[16]; /* this machine's address */
};

void route_back_find(const struct flow *flow, struct route_back *out);

/* An address of 4 bytes, mapped, or of 16. */
void address_map(const void *from, size_t size, uint8_t out[16]);
