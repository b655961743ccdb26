// SPDX-License-Identifier: GPL-2.0-only
/* Device properties from netlink: one request, one answer. The netdev family came with Linux 6.3
 * and headers are often older than the kernel, so its few numbers are defined here. */

#include "kernel/device/device_facts.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>

#include "kernel/device/netlink.h"

#define NETDEV_FAMILY           "netdev"
#define NETDEV_DEV_GET          1 /* command */
#define NETDEV_DEV_IFINDEX      1 /* attributes */
#define NETDEV_DEV_XDP_FEATURES 3

/* ---- links */

static const struct nlattr *link_attribute(const struct nlmsghdr *message, uint16_t type,
					   size_t size)
{
	return netlink_attribute(message, sizeof(struct ifinfomsg), type, size);
}

static void losses_read(const struct nlmsghdr *message, struct device_facts *facts)
{
	struct rtnl_link_stats64 stats = {0};
	size_t size = offsetof(struct rtnl_link_stats64, tx_aborted_errors);
	const struct nlattr *at = link_attribute(message, IFLA_STATS64, size);

	if (!at)
		return;
	memcpy(&stats, mnl_attr_get_payload(at), size);
	facts->missed = stats.rx_missed_errors;
	facts->overruns = stats.rx_over_errors + stats.rx_fifo_errors;
}

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
	const struct nlattr *mtu = link_attribute(message, IFLA_MTU, sizeof(uint32_t));
	const struct nlattr *queues = link_attribute(message, IFLA_NUM_RX_QUEUES, sizeof(uint32_t));
	const struct nlattr *address = link_attribute(message, IFLA_ADDRESS, ETH_ALEN);
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
	losses_read(message, facts);
	return MNL_CB_OK;
}

int device_link_read(struct device_facts *facts)
{
	union netlink_request request;
	struct ifinfomsg *wanted = netlink_start(&request, RTM_GETLINK, 0, sizeof(*wanted));

	wanted->ifi_index = facts->ifindex;
	return netlink_ask(NETLINK_ROUTE, &request, link_take, facts);
}

/* ---- XDP features */

struct xdp_answer {
	bool found;
	uint64_t features;
};

static int features_take(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *at = netlink_attribute(message, sizeof(struct genlmsghdr),
						    NETDEV_DEV_XDP_FEATURES, sizeof(uint64_t));
	struct xdp_answer *answer = arg;

	if (at)
		*answer = (struct xdp_answer){true, mnl_attr_get_u64(at)};
	return MNL_CB_OK;
}

int device_xdp_read(int ifindex, uint64_t *features)
{
	struct xdp_answer answer = {0};
	union netlink_request request;
	uint16_t family;
	int ret = netlink_family_find(NETDEV_FAMILY, &family);

	if (ret)
		return ret;
	netlink_generic_start(&request, family, NETDEV_DEV_GET, 0);
	mnl_attr_put_u32(&request.head, NETDEV_DEV_IFINDEX, (uint32_t)ifindex);
	ret = netlink_ask(NETLINK_GENERIC, &request, features_take, &answer);
	if (ret || !answer.found)
		return ret ? ret : -ENOENT;
	*features = answer.features;
	return 0;
}
