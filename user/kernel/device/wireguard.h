/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the packets of a peer of WireGuard come from. */
#pragma once

#include "policy/decide.h"

/* The outer packets of the peer that the address within the tunnel belongs to, by the kernel, or
 * for a device of type tun by the socket of the program that serves it (wireguard-go, boringtun).
 * False if there is no such peer, or it cannot be found out. Raises CAP_NET_ADMIN. Silent. */
bool wireguard_peer_find(int ifindex, const char *device, const uint8_t inside[16],
			 struct flow *outer);
