// SPDX-License-Identifier: GPL-2.0-only
/* Tunnels by what netlink says of links: their kind, and the addresses of their ends. */

#include "kernel/device/tunnel.h"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/wireguard.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/privilege.h"
#include "base/units.h"
#include "kernel/device/device_stack.h"
#include "kernel/device/netlink.h"
#include "kernel/scope.h"

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

static int link_read(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const struct nlattr *info = netlink_attribute(message, sizeof(*link), IFLA_LINKINFO, 0);
	const struct nlattr *name = netlink_attribute(message, sizeof(*link), IFLA_IFNAME, 1);
	const struct tunnel_kind *kind = tunnel_kind_of(message);
	const struct nlattr *data = kind ? netlink_attribute_in(info, IFLA_INFO_DATA, 0) : NULL;
	const struct nlattr *port =
		data && kind->port ? netlink_attribute_in(data, kind->port, sizeof(uint16_t))
				   : NULL;
	struct list *list = arg;
	struct tunnel *tunnel;

	if (!kind || !name || list->count == TUNNELS_MAX || !(link->ifi_flags & IFF_UP))
		return MNL_CB_OK;
	tunnel = &list->tunnels[list->count];
	*tunnel = (struct tunnel){.ifindex = link->ifi_index};
	snprintf(tunnel->device, sizeof(tunnel->device), "%s", mnl_attr_get_str(name));
	list->kind[list->count++] = kind;
	if (!data)
		return MNL_CB_OK;
	tunnel->outer.proto = kind->proto;
	tunnel->outer.dport = port ? ntohs(mnl_attr_get_u16(port)) : 0;
	tunnel->known = address_read(data, kind->remote, tunnel->outer.src) ||
			address_read(data, kind->remote6, tunnel->outer.src);
	tunnel->outer.dst_known = address_read(data, kind->local, tunnel->outer.dst) ||
				  address_read(data, kind->local6, tunnel->outer.dst);
	return MNL_CB_OK;
}

/* ---- the peers of WireGuard: where their packets come from
 *
 * A device's peers, by generic netlink from the kernel or as text from a program. Where
 * the addresses of several peers hold the one within the tunnel, the longest prefix is meant. */

#define SOCKETS      "/var/run/wireguard"
#define WAIT_SECONDS 2

struct tunnel_search {
	const uint8_t *inside;
	int len;            /* of the longest prefix that holds it; -1: none does */
	struct flow peer;   /* the one at hand: its address and port */
	bool has_peer;      /* it has an endpoint */
	uint16_t port;      /* this machine's */
	struct flow *outer; /* the answer */
	bool found;
};

static void prefix_meet(struct tunnel_search *search, const uint8_t addr[16], int len)
{
	if (len <= search->len || !prefix_contains(addr, (uint8_t)len, search->inside))
		return;
	search->len = len;
	search->found = search->has_peer;
	*search->outer = search->peer;
}

static void endpoint_meet(struct tunnel_search *search, const void *addr, size_t size,
			  uint16_t port)
{
	address_map(addr, size, search->peer.src);
	search->peer.sport = port;
	search->has_peer = true;
}

static void allowed_read(struct tunnel_search *search, const struct nlattr *allowed)
{
	const struct nlattr *addr = netlink_attribute_in(allowed, WGALLOWEDIP_A_IPADDR, 4);
	const struct nlattr *mask = netlink_attribute_in(allowed, WGALLOWEDIP_A_CIDR_MASK, 1);
	uint8_t mapped[16];
	size_t size;

	if (!addr || !mask)
		return;
	size = mnl_attr_get_payload_len(addr);
	address_map(mnl_attr_get_payload(addr), size, mapped);
	prefix_meet(search, mapped, mnl_attr_get_u8(mask) + (size < 16 ? 96 : 0));
}

/* A peer with many prefixes goes on in the next message, without its endpoint. */
static void peer_read(struct tunnel_search *search, const struct nlattr *peer)
{
	const struct nlattr *endpoint =
		netlink_attribute_in(peer, WGPEER_A_ENDPOINT, sizeof(struct sockaddr_in));
	const struct nlattr *allowed = netlink_attribute_in(peer, WGPEER_A_ALLOWEDIPS, 0), *at;
	const struct sockaddr_in *four = endpoint ? mnl_attr_get_payload(endpoint) : NULL;
	const struct sockaddr_in6 *six = (const void *)four;

	if (netlink_attribute_in(peer, WGPEER_A_RX_BYTES, 0)) /* it begins */
		search->has_peer = false;
	if (four && four->sin_family == AF_INET)
		endpoint_meet(search, &four->sin_addr, 4, ntohs(four->sin_port));
	else if (four && four->sin_family == AF_INET6 &&
		 mnl_attr_get_payload_len(endpoint) >= sizeof(*six))
		endpoint_meet(search, &six->sin6_addr, 16, ntohs(six->sin6_port));
	if (!allowed)
		return;
	mnl_attr_for_each_nested(at, allowed)
	{
		allowed_read(search, at);
	}
}

static int device_read(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *peers =
		netlink_attribute(message, sizeof(struct genlmsghdr), WGDEVICE_A_PEERS, 0);
	const struct nlattr *port = netlink_attribute(message, sizeof(struct genlmsghdr),
						      WGDEVICE_A_LISTEN_PORT, sizeof(uint16_t));
	struct tunnel_search *search = arg;
	const struct nlattr *at;

	if (port)
		search->port = mnl_attr_get_u16(port);
	if (!peers)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(at, peers)
	{
		peer_read(search, at);
	}
	return MNL_CB_OK;
}

static bool kernel_ask(int ifindex, struct tunnel_search *search)
{
	union netlink_request request;
	uint16_t family;
	uint32_t raised;
	int ret = netlink_family_find(WG_GENL_NAME, &family);

	if (ret)
		return false;
	netlink_generic_start(&request, family, WG_CMD_GET_DEVICE, NLM_F_DUMP);
	mnl_attr_put_u32(&request.head, WGDEVICE_A_IFINDEX, (uint32_t)ifindex);
	privileges_raise(PRIVILEGE_BIT(NET_ADMIN), &raised);
	ret = netlink_ask(NETLINK_GENERIC, &request, device_read, search);
	privileges_lower(raised);
	return !ret;
}

/* "192.0.2.1:51820" or "[2001:db8::1]:51820" */
static void endpoint_parse(struct tunnel_search *search, char *text)
{
	char *colon = strrchr(text, ':'), *addr = text;
	uint8_t bytes[16];
	uint64_t port;

	if (!colon || number_parse(colon + 1, 1, UINT16_MAX, &port))
		return;
	*colon = '\0';
	if (*text == '[') {
		addr++;
		addr[strcspn(addr, "]%")] = '\0';
	}
	if (inet_pton(AF_INET, addr, bytes) == 1)
		endpoint_meet(search, bytes, 4, (uint16_t)port);
	else if (inet_pton(AF_INET6, addr, bytes) == 1)
		endpoint_meet(search, bytes, 16, (uint16_t)port);
}

/* One line, "key=value". */
static void line_take(struct tunnel_search *search, char *line)
{
	char *value = strchr(line, '='), canonical[PREFIX_TEXT_MAX];
	uint8_t addr[16], len;
	uint64_t port;
	int ret;

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "public_key")) {
		search->has_peer = false;
	} else if (!strcmp(line, "endpoint")) {
		endpoint_parse(search, value);
	} else if (!strcmp(line, "allowed_ip")) {
		ret = prefix_parse(value, addr, &len, canonical);
		if (ret == WORD_HOST_BITS || ret == WORD_MAPPED)
			ret = prefix_parse(canonical, addr, &len, NULL);
		if (!ret)
			prefix_meet(search, addr, len);
	} else if (!strcmp(line, "listen_port") && !number_parse(value, 0, UINT16_MAX, &port)) {
		search->port = (uint16_t)port;
	}
}

/* The answer ends with an empty line, as does the question. */
static bool program_ask(const char *device, struct tunnel_search *search)
{
	static const char question[] = "get=1\n\n";
	const struct timeval wait = {.tv_sec = WAIT_SECONDS};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	FREED char *line = NULL;
	size_t room = 0;

	if (snprintf(name.sun_path, sizeof(name.sun_path), SOCKETS "/%s.sock", device) >=
	    (int)sizeof(name.sun_path))
		return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLOSED_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		scope_fd(&fd);
		return false;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    connect(fd, (const struct sockaddr *)&name, sizeof(name)) ||
	    send(fd, question, strlen(question), MSG_NOSIGNAL) < 0)
		return false;
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line)
			return true;
		line_take(search, line);
	}
	return false;
}

/* ---- all of them */

static void peer_find(const struct tunnel_kind *kind, const struct flow *flow,
		      struct tunnel *tunnel)
{
	struct flow found = {0};
	struct tunnel_search search = {
		.inside = flow->src, .len = -1, .peer = {.proto = IPPROTO_UDP}, .outer = &found};
	struct route_back back;

	/* The outer packets of the peer that the address within the tunnel belongs to, by the
	 * kernel, or for a device of type tun by the socket of the program that serves it
	 * (wireguard-go, boringtun). */
	if ((!strcmp(kind->name, "wireguard") || !strcmp(kind->name, "tun")) &&
	    (kernel_ask(tunnel->ifindex, &search) || program_ask(tunnel->device, &search))) {
		tunnel->outer = found;
		tunnel->outer.dport = search.port;
		tunnel->known = search.found;
	}
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
		if (!device_carries(out[i].ifindex, flow, false))
			continue;
		out[count] = out[i];
		peer_find(list.kind[i], flow, &out[count++]);
	}
	return count;
}
