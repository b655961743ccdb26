/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of a network device. */
#pragma once

#include <linux/if_ether.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* Offloads that affect XDP: X(NAME, "feature name of ethtool"). */
#define DEVICE_OFFLOADS(X)     \
	X(GRO, "rx-gro")       \
	X(LRO, "rx-lro")       \
	X(GRO_HW, "rx-gro-hw") \
	X(RX_VLAN, "rx-vlan-hw-parse")
#define DEVICE_OFFLOAD_ENUM(name, text) OFFLOAD_##name,
enum device_offload { DEVICE_OFFLOADS(DEVICE_OFFLOAD_ENUM) OFFLOAD_COUNT };

/* Bits of xdp_features of the kernel's netdev family. */
#define XDP_FEATURE_BASIC (1ull << 0)
#define XDP_FEATURE_RX_SG (1ull << 5) /* multi-buffer frames */

/* First header of its packets. Tunnels and WireGuard have no Ethernet header before IP. */
enum device_link { LINK_ETHERNET, LINK_IP, LINK_GRE, LINK_OTHER };

/* IP comes first, or after a GRE header. */
static inline bool link_has_ip(enum device_link link)
{
	return link == LINK_IP || link == LINK_GRE;
}

struct device_queues {
	uint32_t now, most; /* receive queues; most 0: unknown */
	bool combined;      /* channels are combined: ethtool -L DEV combined N */
};

struct device_ring {
	uint32_t now, most; /* receive descriptors; 0: unknown */
};

struct device_facts {
	char name[IF_NAMESIZE];
	int ifindex;
	uint32_t mtu;
	bool up, is_loopback;
	enum device_link link;
	uint8_t address[ETH_ALEN]; /* of Ethernet; 0: there is none */
	char driver[32];           /* empty: unknown */
	bool xdp_known;            /* the kernel reports xdp_features (since 6.3) */
	uint64_t xdp_features;
	bool on[OFFLOAD_COUNT];
	struct device_queues queues;
	struct device_ring ring;
	uint64_t missed, overruns; /* lost before any program ran */
};

/* Reads the properties of a device from netlink, for device.c only. 0 or a negative errno. Silent.
 */

/* MTU, address, flags, queues and losses of the device facts->ifindex. */
int device_link_read(struct device_facts *facts);

/* -ENOENT on kernels that do not report them. */
int device_xdp_read(int ifindex, uint64_t *features);
