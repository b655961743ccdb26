// SPDX-License-Identifier: GPL-2.0-only
/* Which device a connection of this machine uses, from links, addresses and routes. Packets may
 * arrive on another device than the answers leave by, so either is enough. */

#include "kernel/device/device_carries.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/units.h"
#include "kernel/device/device_stack.h"
#include "kernel/device/netlink.h"

/* The device and those on top of it. */
struct carrier_search {
	struct device_stack stack;
	const uint8_t *addr; /* looked for among their addresses */
	bool has_addr;
	bool has_any; /* an address that others can reach */
};

/* ---- addresses */

static bool address_is(const struct nlattr *at, uint8_t family, const uint8_t addr[16])
{
	bool ipv4 = prefix_is_ipv4(addr, 128);

	if (!at || ipv4 != (family == AF_INET))
		return false;
	return !memcmp(mnl_attr_get_payload(at), ipv4 ? addr + 12 : addr, ipv4 ? 4 : 16);
}

static int address_read(const struct nlmsghdr *message, void *arg)
{
	const struct ifaddrmsg *msg = mnl_nlmsg_get_payload(message);
	const struct nlattr *at = netlink_attribute(message, sizeof(*msg), IFA_LOCAL, 4);
	struct carrier_search *search = arg;

	if (!device_stack_has(&search->stack, (int)msg->ifa_index))
		return MNL_CB_OK;
	if (!at)
		at = netlink_attribute(message, sizeof(*msg), IFA_ADDRESS, 4);
	search->has_any |= msg->ifa_scope < RT_SCOPE_LINK;
	search->has_addr |= address_is(at, msg->ifa_family, search->addr);
	return MNL_CB_OK;
}

static int addresses_read(struct carrier_search *search)
{
	union netlink_request request;

	netlink_start(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	return netlink_ask(NETLINK_ROUTE, &request, address_read, search);
}

/* ---- the route back */

static int route_read(const struct nlmsghdr *message, void *arg)
{
	const size_t after = sizeof(struct rtmsg);
	const struct nlattr *device = netlink_attribute(message, after, RTA_OIF, 4);
	const struct nlattr *local = netlink_attribute(message, after, RTA_PREFSRC, 4);
	struct route_back *route = arg;

	route->ifindex = device ? (int)mnl_attr_get_u32(device) : 0;
	route->has_local = local;
	if (local)
		address_map(mnl_attr_get_payload(local), mnl_attr_get_payload_len(local),
			    route->local);
	return MNL_CB_OK;
}

void address_map(const void *from, size_t size, uint8_t out[16])
{
	memset(out, 0, 16);
	if (size < 16)
		memset(out + 10, 0xff, 2);
	memcpy(size < 16 ? out + 12 : out, from, size < 16 ? 4 : 16);
}

void route_back_find(const struct flow *flow, struct route_back *out)
{
	bool ipv4 = prefix_is_ipv4(flow->src, 128);
	size_t at = ipv4 ? 12 : 0;
	union netlink_request request;
	struct rtmsg *route = netlink_start(&request, RTM_GETROUTE, 0, sizeof(*route));

	*out = (struct route_back){0};
	route->rtm_family = ipv4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = ipv4 ? 32 : 128;
	mnl_attr_put(&request.head, RTA_DST, 16 - at, flow->src + at);
	if (flow->dst_known) {
		route->rtm_src_len = route->rtm_dst_len;
		mnl_attr_put(&request.head, RTA_SRC, 16 - at, flow->dst + at);
	}
	if (netlink_ask(NETLINK_ROUTE, &request, route_read, out))
		*out = (struct route_back){0};
}

bool device_carries(int ifindex, const struct flow *flow)
{
	struct carrier_search search = {.addr = flow->dst};
	struct route_back back;

	if (!flow->dst_known || device_stack_read(ifindex, &search.stack) ||
	    addresses_read(&search))
		return true;
	if (search.has_addr || !search.has_any)
		return true;
	route_back_find(flow, &back);
	return !back.ifindex || device_stack_has(&search.stack, back.ifindex);
}

bool device_holds(int ifindex, const struct flow *flow)
{
	struct carrier_search search = {.addr = flow->dst};
	struct route_back back;

	if (!flow->dst_known || device_stack_read(ifindex, &search.stack) ||
	    addresses_read(&search))
		return false;
	route_back_find(flow, &back);
	return search.has_addr || device_stack_has(&search.stack, back.ifindex);
}
