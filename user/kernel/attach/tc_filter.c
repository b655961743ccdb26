// SPDX-License-Identifier: GPL-2.0-only
/* Lists the filters of a tc hook. */

#include "kernel/attach/tc_filter.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

int tc_filters_read(int ifindex, enum rl_hook hook, mnl_cb_t each, void *arg)
{
	union netlink_request request;
	struct tcmsg *tc = netlink_start(&request, RTM_GETTFILTER, NLM_F_DUMP, sizeof(*tc));
	int ret, tries = NETLINK_TRIES;

	tc->tcm_ifindex = ifindex;
	tc->tcm_parent =
		TC_H_MAKE(TC_H_CLSACT, hook == RL_HOOK_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	do
		ret = netlink_ask(NETLINK_ROUTE, &request, each, arg);
	while (ret == -EINTR && --tries);
	return ret;
}

static int filter_note(const struct nlmsghdr *message, void *arg)
{
	*(bool *)arg |= message->nlmsg_type == RTM_NEWTFILTER;
	return MNL_CB_OK;
}

int tc_filters_on(int ifindex, enum rl_hook hook)
{
	bool any = false;
	int ret = tc_filters_read(ifindex, hook, filter_note, &any);

	return ret ? ret : any;
}
