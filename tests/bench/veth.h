/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queries about a veth for flood and receiver: its peer, its link counters, and the sums of its
 * per-queue driver counters. Sends nothing and changes nothing.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

struct veth_link {
	unsigned int flags; /* IFF_* */
	unsigned int mtu;
	int peer;         /* ifindex of the other end, 0 if the device has none */
	int peer_netnsid; /* the namespace of the other end, -1: the same */
	uint8_t mac[6];
	uint64_t tx_packets; /* with NAPI on the peer: frames that the peer took off its ring */
};

static inline int veth_ioctl(const char *dev, void *request)
{
	struct ifreq ifr = {.ifr_data = request};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	err = ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
	close(fd);
	return err;
}

static inline bool veth_is(const char *dev)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	return !veth_ioctl(dev, &info) && !strcmp(info.driver, "veth");
}

static inline bool veth_name_matches(const char *name, const char *prefix, const char *suffix)
{
	size_t n = strnlen(name, ETH_GSTRING_LEN), m = strlen(suffix);

	return !strncmp(name, prefix, strlen(prefix)) && n > m && !strncmp(name + n - m, suffix, m);
}

/* Adds up the driver's counters PREFIX*SUFFIX, one for each queue; -ENOENT if there is none. */
static inline int veth_counter_sum(const char *dev, const char *prefix, const char *suffix,
				   uint64_t *sum)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *stats = NULL;
	uint64_t total = 0;
	bool found = false;
	int err = veth_ioctl(dev, &info);

	if (err)
		return err;
	names = calloc(1, sizeof(*names) + (size_t)info.n_stats * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + (size_t)info.n_stats * sizeof(stats->data[0]));
	err = -ENOMEM;
	if (!names || !stats)
		goto out;
	*names = (struct ethtool_gstrings){ETHTOOL_GSTRINGS, ETH_SS_STATS, info.n_stats};
	*stats = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = info.n_stats};
	err = veth_ioctl(dev, names) ?: veth_ioctl(dev, stats);
	if (err)
		goto out;
	for (uint32_t i = 0; i < info.n_stats; i++) {
		const char *name = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;

		if (!veth_name_matches(name, prefix, suffix))
			continue;
		total += stats->data[i];
		found = true;
	}
	err = found ? 0 : -ENOENT;
	if (found)
		*sum = total;
out:
	free(names);
	free(stats);
	return err;
}

static inline void veth_link_attribute(struct veth_link *link, const struct rtattr *attr)
{
	struct rtnl_link_stats64 stats;
	const void *data = RTA_DATA(attr);

	switch (attr->rta_type) {
	case IFLA_LINK:
		memcpy(&link->peer, data, sizeof(link->peer));
		break;
	case IFLA_LINK_NETNSID:
		memcpy(&link->peer_netnsid, data, sizeof(link->peer_netnsid));
		break;
	case IFLA_MTU:
		memcpy(&link->mtu, data, sizeof(link->mtu));
		break;
	case IFLA_ADDRESS:
		if (RTA_PAYLOAD(attr) == sizeof(link->mac))
			memcpy(link->mac, data, sizeof(link->mac));
		break;
	case IFLA_STATS64:
		memset(&stats, 0, sizeof(stats));
		memcpy(&stats, data,
		       RTA_PAYLOAD(attr) < sizeof(stats) ? RTA_PAYLOAD(attr) : sizeof(stats));
		link->tx_packets = stats.tx_packets;
		break;
	}
}

static inline int veth_link_parse(const struct nlmsghdr *answer, struct veth_link *out)
{
	const struct ifinfomsg *info = NLMSG_DATA(answer);
	struct veth_link link = {.flags = info->ifi_flags, .peer_netnsid = -1};
	int left = (int)IFLA_PAYLOAD(answer);

	if (answer->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(answer))->error ?: -EPROTO;
	if (answer->nlmsg_type != RTM_NEWLINK)
		return -EPROTO;
	for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left))
		veth_link_attribute(&link, a);
	*out = link;
	return 0;
}

/* Asks about a device by index, in another namespace if NETNSID is not negative. */
static inline int veth_link_get(int ifindex, int netnsid, struct veth_link *out)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		struct rtattr attr;
		int netnsid;
	} ask = {
		.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(ask.info)),
			   .nlmsg_type = RTM_GETLINK,
			   .nlmsg_flags = NLM_F_REQUEST},
		.info.ifi_index = ifindex,
		.attr = {RTA_LENGTH(sizeof(int)), IFLA_TARGET_NETNSID},
		.netnsid = netnsid,
	};
	_Alignas(struct nlmsghdr) char answer[16384];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (netnsid >= 0)
		ask.header.nlmsg_len = sizeof(ask);
	n = send(fd, &ask, ask.header.nlmsg_len, 0) < 0 ? -1 : recv(fd, answer, sizeof(answer), 0);
	close(fd);
	if (n < 0)
		return -errno;
	if (!NLMSG_OK((struct nlmsghdr *)answer, (size_t)n))
		return -EPROTO;
	return veth_link_parse((struct nlmsghdr *)answer, out);
}
