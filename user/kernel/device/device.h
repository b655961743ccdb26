/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the properties of a network device: link, driver, offloads, queues. Uses netlink and
 * ethtool's ioctl, because /sys/class/net belongs to another namespace under -n. Changes nothing.
 */
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

/* Only what RTM_GETLINK returns: index, MTU, flags, queues, losses and link type. 0 or a negative
 * errno. Silent. */
int device_link_facts(const char *name, struct device_facts *out);

/* All fields. 0 or a negative errno. Silent. */
int device_facts_read(const char *name, struct device_facts *out);

/* Calls `visit` for every device except loopback until it returns non-zero, and returns that. */
int device_for_each(int (*visit)(const char *name, void *arg), void *arg);

/* Interface index, -ENODEV if there is no device of that name, or another negative errno. */
int device_index(const char *device);
