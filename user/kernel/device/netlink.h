/* SPDX-License-Identifier: GPL-2.0-only */
/* Sends one netlink request and reads its answer, by libmnl; requests are filled with
 * mnl_attr_put_…. Silent; errors are negative errnos. */
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_TRIES 8 /* retries for a list that changes while it is read */

union netlink_request {
	struct nlmsghdr head;
	char bytes[1024]; /* including all attributes */
};

/* Starts a request with the given NLM_F_… flags and those that every request has. Returns the
 * family's header: `size` bytes of zeros. */
void *netlink_start(union netlink_request *request, uint16_t type, uint16_t flags, size_t size);

/* Sends the request to NETLINK_ROUTE or NETLINK_GENERIC and waits for the whole answer. Calls
 * `each`, unless it is NULL, for every object in it. -EINTR: the objects changed while they were
 * listed, so some may be missing: ask again. */
int netlink_ask(int protocol, union netlink_request *request, mnl_cb_t each, void *arg);

/* The attribute of that type after a family's header of `head` bytes, or inside another attribute;
 * NULL if it is missing or shorter than `size` bytes. */
const struct nlattr *netlink_attribute(const struct nlmsghdr *message, size_t head, uint16_t type,
				       size_t size);
const struct nlattr *netlink_attribute_in(const struct nlattr *outer, uint16_t type, size_t size);

/* Starts a request to a family of generic netlink, whose number netlink_family_find() gets: 0 or a
 * negative errno. */
void netlink_generic_start(union netlink_request *request, uint16_t family, uint8_t command,
			   uint16_t flags);
int netlink_family_find(const char *name, uint16_t *out);

/* ---- waits for changes of the devices of this namespace. Silent; errors are negative errnos. */

/* A descriptor that becomes readable when a device comes, changes or goes. */
int links_watch_open(void);

/* Reads all that is there. Some may be lost where changes come faster than they are read: list the
 * devices after this. */
void links_watch_drain(int fd);
