/* SPDX-License-Identifier: GPL-2.0-only */
/* Which device a connection of this machine uses. */
#pragma once

#include <stddef.h>

#include "policy/packets/decide.h"

/* Whether packets of the flow, from another machine to this one, may pass the device: the flow's
 * destination, or the way back to its source, belongs to the device or to one on top of it (bridge,
 * bond, VLAN). True also if that cannot be found out. Silent. */
bool device_carries(int ifindex, const struct flow *flow);

/* The same as far as it is known: false if it cannot be found out. Silent. */
bool device_holds(int ifindex, const struct flow *flow);

/* The way of answers to a flow. */
struct route_back {
	int ifindex; /* 0: there is none */
	bool has_local;
	uint8_t local[16]; /* this machine's address */
};

void route_back_find(const struct flow *flow, struct route_back *out);

/* An address of 4 bytes, mapped, or of 16. */
void address_map(const void *from, size_t size, uint8_t out[16]);
