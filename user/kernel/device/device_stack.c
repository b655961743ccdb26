// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/device/device_stack.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/units.h"
#include "kernel/device/netlink.h"

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

	/* Not a number of another namespace, nor that of a tunnel, which has other packets. */
	if (below && !netlink_attribute(message, sizeof(*link), IFLA_LINK_NETNSID, 0) &&
	    !tunnel_kind_of(message) && stack_find(stack, below))
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

/* ---- the kinds of tunnels, by the names that the kernel gives them */

static const struct tunnel_kind kinds[] = {
	{"wireguard", IPPROTO_UDP, 0, 0, 0, 0, 0},
	{"tun", 0, 0, 0, 0, 0, 0},
	{"ppp", 0, 0, 0, 0, 0, 0},
	{"xfrm", 0, 0, 0, 0, 0, 0},
	{"ipip", IPPROTO_IPIP, IFLA_IPTUN_LOCAL, IFLA_IPTUN_REMOTE, 0, 0, 0},
	{"sit", IPPROTO_IPIP, IFLA_IPTUN_LOCAL, IFLA_IPTUN_REMOTE, 0, 0, 0},
	{"ip6tnl", IPPROTO_IPIP, IFLA_IPTUN_LOCAL, IFLA_IPTUN_REMOTE, 0, 0, 0},
	{"gre", IPPROTO_GRE, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, 0, 0, 0},
	{"gretap", IPPROTO_GRE, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, 0, 0, 0},
	{"ip6gre", IPPROTO_GRE, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, 0, 0, 0},
	{"ip6gretap", IPPROTO_GRE, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, 0, 0, 0},
	{"erspan", IPPROTO_GRE, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, 0, 0, 0},
	{"vti", IPPROTO_ESP, IFLA_VTI_LOCAL, IFLA_VTI_REMOTE, 0, 0, 0},
	{"vti6", IPPROTO_ESP, IFLA_VTI_LOCAL, IFLA_VTI_REMOTE, 0, 0, 0},
	{"vxlan", IPPROTO_UDP, IFLA_VXLAN_LOCAL, IFLA_VXLAN_GROUP, IFLA_VXLAN_LOCAL6,
	 IFLA_VXLAN_GROUP6, IFLA_VXLAN_PORT},
	{"geneve", IPPROTO_UDP, 0, IFLA_GENEVE_REMOTE, 0, IFLA_GENEVE_REMOTE6, IFLA_GENEVE_PORT},
};

const struct tunnel_kind *tunnel_kind_of(const struct nlmsghdr *link)
{
	const struct nlattr *info =
		netlink_attribute(link, sizeof(struct ifinfomsg), IFLA_LINKINFO, 0);
	const struct nlattr *name = info ? netlink_attribute_in(info, IFLA_INFO_KIND, 1) : NULL;

	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(mnl_attr_get_str(name), kinds[i].name, mnl_attr_get_payload_len(name)))
			return &kinds[i];
	return NULL;
}

/* ---- connections
 *
 * Which device a connection of this machine uses, from links, addresses and routes. Packets may
 * arrive on another device than the answers leave by, so either is enough. */

/* The device and those on top of it. */
struct carrier_search {
	struct device_stack stack;
	const uint8_t *addr; /* looked for among their addresses */
	bool has_addr;
	bool has_any; /* an address that others can reach */
};

/* ---- addresses */

static int address_read(const struct nlmsghdr *message, void *arg)
{
	const struct ifaddrmsg *msg = mnl_nlmsg_get_payload(message);
	const struct nlattr *at = netlink_attribute(message, sizeof(*msg), IFA_LOCAL, 4);
	struct carrier_search *search = arg;
	bool ipv4 = prefix_is_ipv4(search->addr, 128);

	if (!device_stack_has(&search->stack, (int)msg->ifa_index))
		return MNL_CB_OK;
	if (!at)
		at = netlink_attribute(message, sizeof(*msg), IFA_ADDRESS, 4);
	search->has_any |= msg->ifa_scope < RT_SCOPE_LINK;
	search->has_addr |= at && ipv4 == (msg->ifa_family == AF_INET) &&
			    !memcmp(mnl_attr_get_payload(at),
				    ipv4 ? search->addr + 12 : search->addr, ipv4 ? 4 : 16);
	return MNL_CB_OK;
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

bool device_carries(int ifindex, const struct flow *flow, bool unknown)
{
	struct carrier_search search = {.addr = flow->dst};
	union netlink_request request;
	struct route_back back;

	if (!flow->dst_known || device_stack_read(ifindex, &search.stack))
		return unknown;
	netlink_start(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	if (netlink_ask(NETLINK_ROUTE, &request, address_read, &search))
		return unknown;
	if (search.has_addr || (unknown && !search.has_any))
		return true;
	route_back_find(flow, &back);
	return back.ifindex ? device_stack_has(&search.stack, back.ifindex) : unknown;
}
