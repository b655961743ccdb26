// SPDX-License-Identifier: GPL-2.0-only
/* The filters on a hook of tc. */

#include "tc_filter.h"

#include <linux/pkt_sched.h>

#include "netlink_tc.h"

static uint32_t parent_of(enum rl_hook hook)
{
	return TC_H_MAKE(TC_H_CLSACT, hook == RL_HOOK_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
}

int tc_filters_read(int ifindex, enum rl_hook hook,
		    int (*each)(const struct nlmsghdr *message, void *arg), void *arg)
{
	struct tc_request request = tc_request_make(RTM_GETTFILTER, NLM_F_DUMP, ifindex);

	request.tc.tcm_parent = parent_of(hook);
	return tc_request_send(&request, each, arg);
}

static int filter_count(const struct nlmsghdr *message, void *arg)
{
	*(uint32_t *)arg += message->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

int tc_filters_on(int ifindex, enum rl_hook hook)
{
	uint32_t count = 0;
	int ret = tc_filters_read(ifindex, hook, filter_count, &count);

	return ret ? ret : (int)count;
}
