/* SPDX-License-Identifier: GPL-2.0-only */
/* Traffic control by rtnetlink: what libbpf has no call for, as qdiscs and lists of filters.
 * Reports nothing; errors are negative errnos.
 */
#ifndef RLCTL_NETLINK_TC_H
#define RLCTL_NETLINK_TC_H

#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

struct tc_request {
	struct nlmsghdr head;
	struct tcmsg tc;
	char rest[512]; /* attributes */
};

/* RTM_… of a device, with NLM_F_… besides those that every request has. */
struct tc_request tc_request_make(uint16_t type, uint16_t flags, int ifindex);

/* There is room for the few that are put. */
void tc_request_put(struct tc_request *request, uint16_t type, const void *data, size_t size);

/* Sends it and waits for what the kernel says. `each`, where it is not NULL, is called for every
 * object in the answer until it returns non-zero, which is then returned. */
int tc_request_send(struct tc_request *request,
		    int (*each)(const struct nlmsghdr *message, void *arg), void *arg);

/* The attribute of that type among those of a message or of another attribute, or NULL. */
const struct rtattr *tc_attribute(const struct nlmsghdr *message, uint16_t type);
const struct rtattr *tc_attribute_in(const struct rtattr *outer, uint16_t type);

#endif
