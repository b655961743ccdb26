// SPDX-License-Identifier: GPL-2.0-only

#include "kernel/device/device_stack.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "kernel/device/netlink.h"
#include "kernel/device/tunnel_kind.h"

static int *stack_find(struct device_stack *stack, int ifindex)
{
	for (int i = 0; i < stack->count; i++)
		if (stack->ifindex[i] == ifindex)
			return &stack->ifindex[i];
	return NULL;
}

bool device_stack_has(const struct device_stack *stack, int ifindex)
{
	return stack_find((struct device_stack *)stack, ifindex);
}

static void stack_add(struct device_stack *stack, int ifindex)
{
	if (!stack_find(stack, ifindex) && stack->count < DEVICE_STACK_MAX)
		stack->ifindex[stack->count++] = ifindex;
}

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
	struct device_stack *stack = arg;
	const struct nlattr *address;
	int *at;

	if (netlink_attribute(message, sizeof(*link), IFLA_LINK_NETNSID, 0))
		below = 0; /* a number of another namespace */
	if (tunnel_kind_of(message))
		below = 0; /* has other packets */
	if (below && stack_find(stack, below))
		stack_add(stack, link->ifi_index);
	at = stack_find(stack, link->ifi_index);
	if (!at)
		return MNL_CB_OK;
	address = netlink_attribute(message, sizeof(*link), IFLA_ADDRESS, ETH_ALEN);
	if (address && link->ifi_type == ARPHRD_ETHER)
		memcpy(stack->address[at - stack->ifindex], mnl_attr_get_payload(address),
		       ETH_ALEN);
	if (master)
		stack_add(stack, master);
	return MNL_CB_OK;
}

/* Until nothing is new: a device may be listed before the one that it is on top of. */
int device_stack_read(int ifindex, struct device_stack *out)
{
	union netlink_request request;
	int ret, before;

	*out = (struct device_stack){.ifindex = {ifindex}, .count = 1};
	do {
		before = out->count;
		netlink_start(&request, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
		ret = netlink_ask(NETLINK_ROUTE, &request, link_read, out);
	} while (!ret && out->count > before);
	return ret || out->count < DEVICE_STACK_MAX ? ret : -E2BIG;
}
