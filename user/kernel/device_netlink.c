// SPDX-License-Identifier: GPL-2.0-only
/* Facts of a device that netlink has: one request, one answer. The netdev family came with
 * Linux 6.3, and headers are often older than the kernel: its few numbers stand here.
 */

#include "device_netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"

#define NETDEV_FAMILY           "netdev"
#define NETDEV_DEV_GET          1 /* its command */
#define NETDEV_DEV_IFINDEX      1 /* its attributes */
#define NETDEV_DEV_XDP_FEATURES 3
#define REQUEST_MAX             256
#define ANSWER_MAX              32768

struct request {
	struct nlmsghdr header;
	char body[REQUEST_MAX];
};

struct answer {
	_Alignas(struct nlmsghdr) char bytes[ANSWER_MAX];
};

static void request_start(struct request *request, uint16_t type, const void *head, size_t size)
{
	memset(request, 0, sizeof(*request));
	request->header.nlmsg_type = type;
	request->header.nlmsg_flags = NLM_F_REQUEST;
	request->header.nlmsg_len = NLMSG_LENGTH(size);
	memcpy(request->body, head, size);
}

static void request_add(struct request *request, uint16_t type, const void *data, size_t size)
{
	struct nlattr attribute = {.nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + size)};
	size_t at = NLMSG_ALIGN(request->header.nlmsg_len) - sizeof(request->header);

	memcpy(request->body + at, &attribute, sizeof(attribute));
	memcpy(request->body + at + NLA_HDRLEN, data, size);
	request->header.nlmsg_len = (uint32_t)(sizeof(request->header) + at + NLA_HDRLEN + size);
}

static int answer_check(const struct answer *answer, ssize_t len)
{
	const struct nlmsghdr *header = (const void *)answer->bytes;
	const struct nlmsgerr *error = NLMSG_DATA(header);

	if (!NLMSG_OK(header, len))
		return -EBADMSG;
	if (header->nlmsg_type == NLMSG_ERROR)
		return error->error ? error->error : -ENODATA;
	return 0;
}

static int ask(int protocol, const struct request *request, struct answer *out)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	ssize_t len;
	int ret = 0;

	if (fd < 0)
		return -errno;
	len = send(fd, request, request->header.nlmsg_len, 0);
	if (len >= 0)
		len = recv(fd, out->bytes, sizeof(out->bytes), 0);
	if (len < 0)
		ret = -errno;
	close(fd);
	return ret ? ret : answer_check(out, len);
}

/* The attribute behind a header of `head` bytes, or NULL where it is not there with `size` bytes.
 */
static const void *attribute_find(const struct answer *answer, size_t head, uint16_t type,
				  size_t size)
{
	const struct nlmsghdr *header = (const void *)answer->bytes;
	const char *at = answer->bytes + NLMSG_SPACE(head);
	const char *end = answer->bytes + header->nlmsg_len;

	while (at + NLA_HDRLEN <= end) {
		struct nlattr attribute;

		memcpy(&attribute, at, sizeof(attribute));
		if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > end)
			break;
		if ((attribute.nla_type & NLA_TYPE_MASK) == type)
			return attribute.nla_len >= NLA_HDRLEN + size ? at + NLA_HDRLEN : NULL;
		at += NLA_ALIGN(attribute.nla_len);
	}
	return NULL;
}

/* ---- links */

static void losses_read(const struct answer *answer, struct device_facts *facts)
{
	struct rtnl_link_stats64 stats = {0};
	size_t size = offsetof(struct rtnl_link_stats64, tx_aborted_errors);
	const void *data = attribute_find(answer, sizeof(struct ifinfomsg), IFLA_STATS64, size);

	if (!data)
		return;
	memcpy(&stats, data, size);
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

int device_link_read(struct device_facts *facts)
{
	const struct ifinfomsg wanted = {.ifi_index = facts->ifindex};
	const struct ifinfomsg *link;
	struct request request;
	struct answer answer;
	const void *data;
	int ret;

	request_start(&request, RTM_GETLINK, &wanted, sizeof(wanted));
	ret = ask(NETLINK_ROUTE, &request, &answer);
	if (ret)
		return ret;
	link = NLMSG_DATA((struct nlmsghdr *)answer.bytes);
	facts->up = link->ifi_flags & IFF_UP;
	facts->is_loopback = link->ifi_flags & IFF_LOOPBACK;
	facts->link = link_type(link->ifi_type);
	data = attribute_find(&answer, sizeof(wanted), IFLA_MTU, sizeof(facts->mtu));
	if (data)
		memcpy(&facts->mtu, data, sizeof(facts->mtu));
	data = attribute_find(&answer, sizeof(wanted), IFLA_NUM_RX_QUEUES, sizeof(uint32_t));
	if (data)
		memcpy(&facts->queues.now, data, sizeof(uint32_t));
	losses_read(&answer, facts);
	return 0;
}

/* ---- XDP features */

static int family_find(uint16_t *out)
{
	const struct genlmsghdr get = {.cmd = CTRL_CMD_GETFAMILY, .version = 1};
	struct request request;
	struct answer answer;
	const void *data;
	int ret;

	request_start(&request, GENL_ID_CTRL, &get, sizeof(get));
	request_add(&request, CTRL_ATTR_FAMILY_NAME, NETDEV_FAMILY, sizeof(NETDEV_FAMILY));
	ret = ask(NETLINK_GENERIC, &request, &answer);
	if (ret)
		return ret;
	data = attribute_find(&answer, sizeof(get), CTRL_ATTR_FAMILY_ID, sizeof(*out));
	if (!data)
		return -ENOENT;
	memcpy(out, data, sizeof(*out));
	return 0;
}

int device_xdp_read(int ifindex, uint64_t *features)
{
	const struct genlmsghdr get = {.cmd = NETDEV_DEV_GET, .version = 1};
	const uint32_t index = (uint32_t)ifindex;
	struct request request;
	struct answer answer;
	const void *data;
	uint16_t family;
	int ret = family_find(&family);

	if (ret)
		return ret;
	request_start(&request, family, &get, sizeof(get));
	request_add(&request, NETDEV_DEV_IFINDEX, &index, sizeof(index));
	ret = ask(NETLINK_GENERIC, &request, &answer);
	if (ret)
		return ret;
	data = attribute_find(&answer, sizeof(get), NETDEV_DEV_XDP_FEATURES, sizeof(*features));
	if (!data)
		return -ENOENT;
	memcpy(features, data, sizeof(*features));
	return 0;
}
