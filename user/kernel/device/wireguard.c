// SPDX-License-Identifier: GPL-2.0-only
/* A device's peers, by generic netlink from the kernel or as text from a program. Where
 * the addresses of several peers hold the one within the tunnel, the longest prefix is meant. */

#include "kernel/device/tunnel.h"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/wireguard.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/units.h"
#include "kernel/device/device_stack.h"
#include "kernel/device/netlink.h"

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

/* ---- the kernel */

static void endpoint_read(struct tunnel_search *search, const struct nlattr *at)
{
	const struct sockaddr_in *four = mnl_attr_get_payload(at);
	const struct sockaddr_in6 *six = mnl_attr_get_payload(at);

	if (four->sin_family == AF_INET && mnl_attr_get_payload_len(at) >= sizeof(*four))
		endpoint_meet(search, &four->sin_addr, 4, ntohs(four->sin_port));
	else if (four->sin_family == AF_INET6 && mnl_attr_get_payload_len(at) >= sizeof(*six))
		endpoint_meet(search, &six->sin6_addr, 16, ntohs(six->sin6_port));
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

	if (netlink_attribute_in(peer, WGPEER_A_RX_BYTES, 0)) /* it begins */
		search->has_peer = false;
	if (endpoint)
		endpoint_read(search, endpoint);
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

/* ---- a program */

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

static void allowed_parse(struct tunnel_search *search, char *text)
{
	char *slash = strchr(text, '/');
	uint8_t bytes[16], mapped[16];
	uint64_t len;
	bool four;

	if (!slash || number_parse(slash + 1, 0, 128, &len))
		return;
	*slash = '\0';
	four = inet_pton(AF_INET, text, bytes) == 1;
	if (!four && inet_pton(AF_INET6, text, bytes) != 1)
		return;
	address_map(bytes, four ? 4 : 16, mapped);
	if (len <= (four ? 32 : 128))
		prefix_meet(search, mapped, (int)len + (four ? 96 : 0));
}

/* One line, "key=value". */
static void line_take(struct tunnel_search *search, char *line)
{
	char *value = strchr(line, '=');
	uint64_t port;

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "public_key"))
		search->has_peer = false;
	else if (!strcmp(line, "endpoint"))
		endpoint_parse(search, value);
	else if (!strcmp(line, "allowed_ip"))
		allowed_parse(search, value);
	else if (!strcmp(line, "listen_port") && !number_parse(value, 0, UINT16_MAX, &port))
		search->port = (uint16_t)port;
}

/* The answer ends with an empty line, as does the question. */
static bool answer_take(int fd, struct tunnel_search *search)
{
	static const char question[] = "get=1\n\n";
	FILE *file = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	bool ended = false;

	if (!file) {
		close(fd);
		return false;
	}
	if (send(fd, question, strlen(question), MSG_NOSIGNAL) < 0) {
		fclose(file);
		return false;
	}
	while (!ended && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		ended = !*line;
		line_take(search, line);
	}
	free(line);
	fclose(file);
	return ended;
}

static bool program_ask(const char *device, struct tunnel_search *search)
{
	const struct timeval wait = {.tv_sec = WAIT_SECONDS};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd;

	if (snprintf(name.sun_path, sizeof(name.sun_path), SOCKETS "/%s.sock", device) >=
	    (int)sizeof(name.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    connect(fd, (const struct sockaddr *)&name, sizeof(name))) {
		close(fd);
		return false;
	}
	return answer_take(fd, search);
}

bool wireguard_peer_find(int ifindex, const char *device, const uint8_t inside[16],
			 struct flow *outer)
{
	struct flow found = {0};
	struct tunnel_search search = {
		.inside = inside, .len = -1, .peer = {.proto = IPPROTO_UDP}, .outer = &found};

	if (!kernel_ask(ifindex, &search) && !program_ask(device, &search))
		return false;
	*outer = found;
	outer->dport = search.port;
	return search.found;
}
