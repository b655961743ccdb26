// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of tunnels, by the names that the kernel gives them. */

#include "kernel/device/tunnel_kind.h"

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "kernel/device/netlink.h"

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
