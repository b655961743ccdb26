/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel says of a network device of this namespace: by netlink and ethtool's ioctl, since
 * /sys/class/net is that of another namespace under -n. Changes nothing.
 */
#ifndef RLCTL_DEVICE_H
#define RLCTL_DEVICE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* Offloads that matter to XDP: X(NAME, "as ethtool's features are called"). */
#define DEVICE_OFFLOADS(X)     \
	X(GRO, "rx-gro")       \
	X(LRO, "rx-lro")       \
	X(GRO_HW, "rx-gro-hw") \
	X(RX_VLAN, "rx-vlan-hw-parse")
#define DEVICE_OFFLOAD_ENUM(name, text) OFFLOAD_##name,
enum device_offload { DEVICE_OFFLOADS(DEVICE_OFFLOAD_ENUM) OFFLOAD_COUNT };

/* Bits of xdp_features, as the kernel's netdev family has them. */
#define XDP_FEATURE_BASIC (1ull << 0)
#define XDP_FEATURE_RX_SG (1ull << 5) /* frames in several pieces */

/* What its packets begin with. Tunnels, WireGuard and the like have no Ethernet header in front of
 * IP; others have what only they know. */
enum device_link { LINK_ETHERNET, LINK_IP, LINK_GRE, LINK_OTHER };

/* With IP, behind the tunnel's own header or without it. */
static inline bool link_has_ip(enum device_link link)
{
	return link == LINK_IP || link == LINK_GRE;
}

struct device_queues {
	uint32_t now, most; /* that receive; most 0: not known */
	bool combined;      /* they also send: ethtool -L DEV combined N */
};

struct device_ring {
	uint32_t now, most; /* descriptors for receiving; 0: not known */
};

struct device_facts {
	char name[IF_NAMESIZE];
	int ifindex;
	uint32_t mtu;
	bool up, is_loopback;
	enum device_link link;
	char driver[32]; /* empty where it has no name */
	bool xdp_known;  /* the kernel tells xdp_features: since 6.3 */
	uint64_t xdp_features;
	bool on[OFFLOAD_COUNT];
	struct device_queues queues;
	struct device_ring ring;
	uint64_t missed, overruns; /* lost before any program saw them, since the device is there */
};

/* Only what netlink says of its link: number, MTU, flags, queues, losses and what its packets begin
 * with. 0 or a negative errno. Silent. */
int device_link_facts(const char *name, struct device_facts *out);

/* All of it. 0 or a negative errno. Silent. */
int device_facts_read(const char *name, struct device_facts *out);

/* Calls `visit` for every device but loopback ones until it returns non-zero, which is returned. */
int device_for_each(int (*visit)(const char *name, void *arg), void *arg);

/* The number of the device, -ENODEV where there is none of that name, another error where it could
 * not be asked for. */
int device_index(const char *device);

#endif
