/* SPDX-License-Identifier: GPL-2.0-only */
/* Which device a connection of this machine uses. */
#ifndef RLCTL_DEVICE_CARRIES_H
#define RLCTL_DEVICE_CARRIES_H

#include "decide.h"

/* Whether packets of the flow, from another machine to this one, may pass the device: the flow's
 * destination, or the way back to its source, belongs to the device or to one on top of it (bridge,
 * bond, VLAN). True also if that cannot be found out. Silent. */
bool device_carries(int ifindex, const struct flow *flow);

#endif
