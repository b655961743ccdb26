/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of devices whose packets travel within others. */
#pragma once

#include <linux/netlink.h>
#include <stdint.h>

/* Attributes of IFLA_INFO_DATA; 0: it has none, or one that is of no use. */
struct tunnel_kind {
	const char *name;
	uint8_t proto; /* of the outer packets; IPPROTO_IPIP: that or IPPROTO_IPV6 */
	uint8_t local, remote, local6, remote6;
	uint8_t port; /* to which packets are sent, at both ends */
};

/* The kind of the device that a message of RTM_GETLINK describes; NULL: it is no tunnel. */
const struct tunnel_kind *tunnel_kind_of(const struct nlmsghdr *link);
