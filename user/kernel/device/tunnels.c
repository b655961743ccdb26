// SPDX-License-Identifier: GPL-2.0-only
/* Tunnels by what netlink says of links: their kind, and the addresses of their ends. */

#include "kernel/device/tunnel.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "base/units.h"
#include "kernel/device/device_stack.h"
#include "kernel/device/netlink.h"

struct list {
	struct tunnel *tunnels;
	const struct tunnel_kind *kind[TUNNELS_MAX];
	size_t count;
};

/* The address, unless it is missing, any or of a group. */
static bool address_read(const struct nlattr *data, uint8_t type, uint8_t out[16])
{
	const struct nlattr *at = type ? netlink_attribute_in(data, type, 4) : NULL;
	static const uint8_t none[16];

	if (!at)
		return false;
	address_map(mnl_attr_get_payload(at), mnl_attr_get_payload_len(at), out);
	return memcmp(out, none, 16) != 0 && memcmp(out + 12, none, 4) != 0 && out[0] != 0xff &&
	       !(prefix_is_ipv4(out, 128) && IN_MULTICAST(ntohl(*(const uint32_t *)(out + 12))));
}

static void ends_read(const struct nlattr *data, const struct tunnel_kind *kind,
		      struct tunnel *tunnel)
{
	struct flow *outer = &tunnel->outer;
	const struct nlattr *port =
		kind->port ? netlink_attribute_in(data, kind->port, sizeof(uint16_t)) : NULL;

	outer->proto = kind->proto;
	tunnel->known = address_read(data, kind->remote, outer->src) ||
			address_read(data, kind->remote6, outer->src);
	outer->dst_known = address_read(data, kind->local, outer->dst) ||
			   address_read(data, kind->local6, outer->dst);
	outer->dport = port ? ntohs(mnl_attr_get_u16(port)) : 0;
}

static int link_read(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const struct nlattr *info = netlink_attribute(message, sizeof(*link), IFLA_LINKINFO, 0);
	const struct nlattr *name = netlink_attribute(message, sizeof(*link), IFLA_IFNAME, 1);
	const struct tunnel_kind *kind = tunnel_kind_of(message);
	const struct nlattr *data = kind ? netlink_attribute_in(info, IFLA_INFO_DATA, 0) : NULL;
	struct list *list = arg;
	struct tunnel *tunnel;

	if (!kind || !name || list->count == TUNNELS_MAX || !(link->ifi_flags & IFF_UP))
		return MNL_CB_OK;
	tunnel = &list->tunnels[list->count];
	*tunnel = (struct tunnel){.ifindex = link->ifi_index};
	snprintf(tunnel->device, sizeof(tunnel->device), "%s", mnl_attr_get_str(name));
	list->kind[list->count++] = kind;
	if (data)
		ends_read(data, kind, tunnel);
	return MNL_CB_OK;
}

static void peer_find(const struct tunnel_kind *kind, const struct flow *flow,
		      struct tunnel *tunnel)
{
	struct route_back back;

	if (!strcmp(kind->name, "wireguard") || !strcmp(kind->name, "tun"))
		tunnel->known = wireguard_peer_find(tunnel->ifindex, tunnel->device, flow->src,
						    &tunnel->outer);
	if (tunnel->outer.proto == IPPROTO_IPIP) /* whatever carries it */
		tunnel->outer.proto = prefix_is_ipv4(flow->src, 128) ? IPPROTO_IPIP : IPPROTO_IPV6;
	if (!tunnel->known || tunnel->outer.dst_known)
		return;
	route_back_find(&tunnel->outer, &back);
	tunnel->outer.dst_known = back.has_local;
	memcpy(tunnel->outer.dst, back.local, sizeof(back.local));
}

size_t tunnels_find(const struct flow *flow, struct tunnel out[TUNNELS_MAX])
{
	struct list list = {.tunnels = out};
	union netlink_request request;
	size_t count = 0;

	netlink_start(&request, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	if (netlink_ask(NETLINK_ROUTE, &request, link_read, &list))
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		if (!device_holds(out[i].ifindex, flow))
			continue;
		out[count] = out[i];
		peer_find(list.kind[i], flow, &out[count++]);
	}
	return count;
}
