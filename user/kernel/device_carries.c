// SPDX-License-Identifier: GPL-2.0-only
/* Which device a connection of this machine uses, from links, addresses and routes. Packets may
 * arrive on another device than the answers leave by, so either is enough. */

#include "device_carries.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink.h"
#include "units.h"

#define DEVICES_MAX 64

/* The device and those on top of it. */
struct stack {
	int ifindex[DEVICES_MAX];
	int count;
	const uint8_t *addr; /* looked for among their addresses */
	bool has_addr;
	bool has_any; /* an address that others can reach */
};

static bool stack_has(const struct stack *stack, int ifindex)
{
	for (int i = 0; i < stack->count; i++)
		if (stack->ifindex[i] == ifindex)
			return true;
	return false;
}

static void stack_add(struct stack *stack, int ifindex)
{
	if (!stack_has(stack, ifindex) && stack->count < DEVICES_MAX)
		stack->ifindex[stack->count++] = ifindex;
}

/* ---- links */

static int index_attribute(const struct nlmsghdr *message, uint16_t type)
{
	const struct nlattr *at =
		netlink_attribute(message, sizeof(struct ifinfomsg), type, sizeof(uint32_t));

	return at ? (int)mnl_attr_get_u32(at) : 0;
}

static int link_read(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	int master = index_attribute(message, IFLA_MASTER);
	int below = index_attribute(message, IFLA_LINK);
	struct stack *stack = arg;

	if (netlink_attribute(message, sizeof(*link), IFLA_LINK_NETNSID, 0))
		below = 0; /* a number of another namespace */
	if (master && stack_has(stack, link->ifi_index))
		stack_add(stack, master);
	if (below && stack_has(stack, below))
		stack_add(stack, link->ifi_index);
	return MNL_CB_OK;
}

static int links_read(struct stack *stack)
{
	union netlink_request request;
	int ret, before;

	do {
		before = stack->count;
		netlink_start(&request, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
		ret = netlink_ask(NETLINK_ROUTE, &request, link_read, stack);
	} while (!ret && stack->count > before);
	return stack->count < DEVICES_MAX ? ret : -E2BIG;
}

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
	struct stack *stack = arg;

	if (!stack_has(stack, (int)msg->ifa_index))
		return MNL_CB_OK;
	if (!at)
		at = netlink_attribute(message, sizeof(*msg), IFA_ADDRESS, 4);
	stack->has_any |= msg->ifa_scope < RT_SCOPE_LINK;
	stack->has_addr |= address_is(at, msg->ifa_family, stack->addr);
	return MNL_CB_OK;
}

static int addresses_read(struct stack *stack)
{
	union netlink_request request;

	netlink_start(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	return netlink_ask(NETLINK_ROUTE, &request, address_read, stack);
}

/* ---- the route back */

static int route_read(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *at =
		netlink_attribute(message, sizeof(struct rtmsg), RTA_OIF, sizeof(uint32_t));

	*(int *)arg = at ? (int)mnl_attr_get_u32(at) : 0;
	return MNL_CB_OK;
}

/* The device, or 0 if there is no route. */
static int route_device(const struct flow *flow)
{
	bool ipv4 = prefix_is_ipv4(flow->src, 128);
	size_t at = ipv4 ? 12 : 0;
	union netlink_request request;
	struct rtmsg *route = netlink_start(&request, RTM_GETROUTE, 0, sizeof(*route));
	int ifindex = 0;

	route->rtm_family = ipv4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = route->rtm_src_len = ipv4 ? 32 : 128;
	mnl_attr_put(&request.head, RTA_DST, 16 - at, flow->src + at);
	mnl_attr_put(&request.head, RTA_SRC, 16 - at, flow->dst + at);
	return netlink_ask(NETLINK_ROUTE, &request, route_read, &ifindex) ? 0 : ifindex;
}

bool device_carries(int ifindex, const struct flow *flow)
{
	struct stack stack = {.ifindex = {ifindex}, .count = 1, .addr = flow->dst};
	int back;

	if (!flow->dst_known || links_read(&stack) || addresses_read(&stack))
		return true;
	if (stack.has_addr || !stack.has_any)
		return true;
	back = route_device(flow);
	return !back || stack_has(&stack, back);
}
