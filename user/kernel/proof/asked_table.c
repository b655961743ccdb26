// SPDX-License-Identifier: GPL-2.0-only
/* The table of what this machine asks, which instances share. */

#include "kernel/proof/asked_table.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "kernel/device/device_stack.h"
#include "kernel/device/netlink.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"

static const struct shared_table asked = SHARED_TABLE(asked, struct rl_asked);

int asked_make(const struct instance *instance)
{
	return shared_table_make(instance, &asked);
}

/* ---- uplinks: devices with a route through a gateway */

#define UPLINKS_MAX 32

struct uplinks {
	int ifindex[UPLINKS_MAX]; /* 0: seen */
	int count;
};

static void uplink_add(struct uplinks *uplinks, int ifindex)
{
	for (int i = 0; i < uplinks->count; i++)
		if (uplinks->ifindex[i] == ifindex)
			return;
	if (ifindex && uplinks->count < UPLINKS_MAX)
		uplinks->ifindex[uplinks->count++] = ifindex;
}

static int route_take(const struct nlmsghdr *message, void *arg)
{
	size_t head = sizeof(struct rtmsg);
	const struct nlattr *out = netlink_attribute(message, head, RTA_OIF, sizeof(uint32_t));
	const struct nlattr *hops = netlink_attribute(message, head, RTA_MULTIPATH, 0);
	bool gateway = netlink_attribute(message, head, RTA_GATEWAY, 4) ||
		       netlink_attribute(message, head, RTA_VIA, 4);
	struct rtnexthop *hop = hops ? mnl_attr_get_payload(hops) : NULL;
	int left = hops ? mnl_attr_get_payload_len(hops) : 0;

	if (out && gateway)
		uplink_add(arg, (int)mnl_attr_get_u32(out));
	for (; hop && RTNH_OK(hop, left); hop = RTNH_NEXT(hop)) {
		uplink_add(arg, hop->rtnh_ifindex);
		left -= RTNH_ALIGN(hop->rtnh_len);
	}
	return MNL_CB_OK;
}

/* Takes off those that the device sees, or one on top of it is. Were there any? */
static bool uplinks_seen(struct uplinks *uplinks, int ifindex)
{
	struct device_stack stack;
	bool any = false;

	if (device_stack_read(ifindex, &stack))
		return false;
	for (int i = 0; i < uplinks->count; i++)
		if (device_stack_has(&stack, uplinks->ifindex[i])) {
			uplinks->ifindex[i] = 0;
			any = true;
		}
	return any;
}

/* Takes off those that the instance sees, if it has the table. */
static int others_see(const char *path, const char *device, void *arg)
{
	CLOSED int fd = shared_table_open_at(path, device, &asked);

	if (fd >= 0)
		uplinks_seen(arg, (int)if_nametoindex(device));
	return -ENOENT; /* and on to the next */
}

bool uplink_unseen(const struct instance *instance, char out[IF_NAMESIZE])
{
	struct uplinks uplinks = {0};
	union netlink_request request;

	netlink_start(&request, RTM_GETROUTE, NLM_F_DUMP, sizeof(struct rtmsg));
	if (netlink_ask(NETLINK_ROUTE, &request, route_take, &uplinks) ||
	    !uplinks_seen(&uplinks, (int)instance->info.ifindex))
		return false;
	shared_others(instance, others_see, &uplinks);
	for (int i = 0; i < uplinks.count; i++)
		if (uplinks.ifindex[i] && if_indextoname(uplinks.ifindex[i], out))
			return true;
	return false;
}
