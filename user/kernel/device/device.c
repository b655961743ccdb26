// SPDX-License-Identifier: GPL-2.0-only
/* Device properties from ethtool's ioctl: driver, offloads, queues, rings. Those from netlink are
 * below. Properties that a driver does not report stay zero. */

#include "kernel/device/device.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "kernel/device/netlink.h"
#include "kernel/scope.h"

#define FEATURES_MAX 1024u

static int ethtool(int fd, const char *device, void *data)
{
	struct ifreq request = {.ifr_data = data};

	memcpy(request.ifr_name, device, strnlen(device, IF_NAMESIZE - 1));
	return ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

/* ---- offloads: feature bits, named by the kernel */

static void offloads_read(int fd, struct device_facts *out)
{
	static const char *const offloads[OFFLOAD_COUNT] = {
#define OFFLOAD_NAME(name_, text) text,
		DEVICE_OFFLOADS(OFFLOAD_NAME)
#undef OFFLOAD_NAME
	};
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} sset = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
	uint32_t count, blocks;

	if (ethtool(fd, out->name, &sset) || !sset.info.sset_mask || !sset.info.data[0])
		return;
	count = sset.info.data[0] < FEATURES_MAX ? sset.info.data[0] : FEATURES_MAX;
	blocks = (count + 31) / 32;
	FREED struct ethtool_gstrings *names = calloc(1, sizeof(*names) + count * ETH_GSTRING_LEN);
	FREED struct ethtool_gfeatures *bits =
		calloc(1, sizeof(*bits) + blocks * sizeof(bits->features[0]));
	if (!names || !bits)
		return;
	*names = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count};
	*bits = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
	if (ethtool(fd, out->name, names) || ethtool(fd, out->name, bits))
		return;
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < OFFLOAD_COUNT; k++)
			if (!strncmp((const char *)names->data + i * ETH_GSTRING_LEN, offloads[k],
				     ETH_GSTRING_LEN))
				out->on[k] = bits->features[i / 32].active & 1u << i % 32;
}

/* ---- netlink
 *
 * Device properties from netlink: one request, one answer. The netdev family came with Linux 6.3
 * and headers are often older than the kernel, so its few numbers are defined here. */

#define NETDEV_FAMILY           "netdev"
#define NETDEV_DEV_GET          1 /* command */
#define NETDEV_DEV_IFINDEX      1 /* attributes */
#define NETDEV_DEV_XDP_FEATURES 3

static enum device_link link_type(uint16_t type)
{
	switch (type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		return LINK_ETHERNET;
	case ARPHRD_NONE:
	case ARPHRD_RAWIP:
	case ARPHRD_PPP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
		return LINK_IP;
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		return LINK_GRE;
	default:
		return LINK_OTHER;
	}
}

static int link_take(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const size_t after = sizeof(*link);
	const size_t counted = offsetof(struct rtnl_link_stats64, tx_aborted_errors);
	const struct nlattr *mtu = netlink_attribute(message, after, IFLA_MTU, sizeof(uint32_t));
	const struct nlattr *queues =
		netlink_attribute(message, after, IFLA_NUM_RX_QUEUES, sizeof(uint32_t));
	const struct nlattr *address = netlink_attribute(message, after, IFLA_ADDRESS, ETH_ALEN);
	const struct nlattr *losses = netlink_attribute(message, after, IFLA_STATS64, counted);
	struct rtnl_link_stats64 stats = {0};
	struct device_facts *facts = arg;

	facts->up = link->ifi_flags & IFF_UP;
	facts->is_loopback = link->ifi_flags & IFF_LOOPBACK;
	facts->link = link_type(link->ifi_type);
	if (mtu)
		facts->mtu = mnl_attr_get_u32(mtu);
	if (queues)
		facts->queues.now = mnl_attr_get_u32(queues);
	if (address && facts->link == LINK_ETHERNET)
		memcpy(facts->address, mnl_attr_get_payload(address), ETH_ALEN);
	if (losses)
		memcpy(&stats, mnl_attr_get_payload(losses), counted);
	facts->missed = stats.rx_missed_errors;
	facts->overruns = stats.rx_over_errors + stats.rx_fifo_errors;
	return MNL_CB_OK;
}

static int device_link_read(struct device_facts *facts)
{
	union netlink_request request;
	struct ifinfomsg *wanted = netlink_start(&request, RTM_GETLINK, 0, sizeof(*wanted));

	wanted->ifi_index = facts->ifindex;
	return netlink_ask(NETLINK_ROUTE, &request, link_take, facts);
}

/* ---- XDP features */

static int features_take(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *at = netlink_attribute(message, sizeof(struct genlmsghdr),
						    NETDEV_DEV_XDP_FEATURES, sizeof(uint64_t));
	struct device_facts *facts = arg;

	facts->xdp_known = at;
	facts->xdp_features = at ? mnl_attr_get_u64(at) : 0;
	return MNL_CB_OK;
}

static void xdp_features_read(struct device_facts *facts)
{
	union netlink_request request;
	uint16_t family;

	if (netlink_family_find(NETDEV_FAMILY, &family))
		return;
	netlink_generic_start(&request, family, NETDEV_DEV_GET, 0);
	mnl_attr_put_u32(&request.head, NETDEV_DEV_IFINDEX, (uint32_t)facts->ifindex);
	if (netlink_ask(NETLINK_GENERIC, &request, features_take, facts))
		facts->xdp_features = facts->xdp_known = false;
}

/* ---- devices */

int device_link_facts(const char *name, struct device_facts *out)
{
	struct device_facts facts = {.ifindex = (int)if_nametoindex(name)};
	int ret;

	if (!facts.ifindex)
		return -ENODEV;
	snprintf(facts.name, sizeof(facts.name), "%s", name);
	ret = device_link_read(&facts);
	if (!ret)
		*out = facts;
	return ret;
}

int device_facts_read(const char *name, struct device_facts *out)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};
	struct device_facts facts;
	int ret = device_link_facts(name, &facts);

	if (ret)
		return ret;
	CLOSED int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!ethtool(fd, name, &info))
		snprintf(facts.driver, sizeof(facts.driver), "%.31s", info.driver);
	if (!ethtool(fd, name, &channels)) {
		facts.queues.now = channels.combined_count + channels.rx_count;
		facts.queues.combined = channels.max_combined;
		facts.queues.most = channels.max_combined ?: channels.max_rx;
	}
	if (!ethtool(fd, name, &ring))
		facts.ring = (struct device_ring){ring.rx_pending, ring.rx_max_pending};
	offloads_read(fd, &facts);
	xdp_features_read(&facts);
	*out = facts;
	return 0;
}

int device_for_each(int (*visit)(const char *name, void *arg), void *arg)
{
	struct if_nameindex *list = if_nameindex();
	struct device_facts facts;
	int ret = 0;

	if (!list)
		return -errno;
	for (struct if_nameindex *at = list; !ret && at->if_index; at++) {
		facts = (struct device_facts){.ifindex = (int)at->if_index};
		if (!device_link_read(&facts) && !facts.is_loopback)
			ret = visit(at->if_name, arg);
	}
	if_freenameindex(list);
	return ret;
}

int device_index(const char *device)
{
	int ifindex = if_nametoindex(device);

	return ifindex ? ifindex : -errno;
}
