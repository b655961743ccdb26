/* SPDX-License-Identifier: GPL-2.0-only */
/* Neighbour discovery (RFC 4861), without which a link has no IPv6, as without ARP it has no IPv4.
 * A message counts if its ICMPv6 header follows the IPv6 header (never in a fragment: RFC 6980),
 * its hop limit is 255, its code is 0, and its addresses are those that RFC 4861 allows:
 *
 * - router solicitation: from a link-local address, or from ::
 * - router advertisement, redirect: from a link-local address
 * - neighbour solicitation: from a link-local address, or to the target or its solicited-node group
 * - neighbour advertisement: from a link-local address, from the target, or a solicited
 *   one to a unicast address
 */
#pragma once

#include "packet/parse.h"

#define HOP_LIMIT_OF_LINK       255
#define ADVERTISEMENT_SOLICITED 0x40

enum neighbour_type {
	ROUTER_SOLICITATION = ND_FIRST,
	ROUTER_ADVERTISEMENT,
	NEIGHBOUR_SOLICITATION,
	NEIGHBOUR_ADVERTISEMENT,
	REDIRECT = ND_LAST,
};

/* The target stands in neighbour solicitations and advertisements. */
struct neighbour_message {
	struct ipv6hdr ip;
	struct {
		__u8 type, code;
		__be16 checksum;
		__u8 flags, reserved[3];
	} icmp;
	struct in6_addr target;
};
_Static_assert(sizeof(struct neighbour_message) == 64, "64 bytes of packet");

#define MESSAGE_LEAST offsetof(struct neighbour_message, target)

static __always_inline bool in6_same(const struct in6_addr *a, const struct in6_addr *b)
{
	return a->s6_addr32[0] == b->s6_addr32[0] && a->s6_addr32[1] == b->s6_addr32[1] &&
	       a->s6_addr32[2] == b->s6_addr32[2] && a->s6_addr32[3] == b->s6_addr32[3];
}

static __always_inline bool in6_is_link_local(const struct in6_addr *a)
{
	return (a->s6_addr32[0] & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

static __always_inline bool in6_is_unspecified(const struct in6_addr *a)
{
	return !(a->s6_addr32[0] | a->s6_addr32[1] | a->s6_addr32[2] | a->s6_addr32[3]);
}

/* ff02::1:ffXX:XXXX with the last three bytes of the target. */
static __always_inline bool in6_is_solicited_node(const struct in6_addr *group,
						  const struct in6_addr *target)
{
	return group->s6_addr32[0] == bpf_htonl(0xff020000) && !group->s6_addr32[1] &&
	       group->s6_addr32[2] == bpf_htonl(1) &&
	       group->s6_addr32[3] == (target->s6_addr32[3] | bpf_htonl(0xff000000));
}

static __always_inline bool advertisement_holds(const struct neighbour_message *m)
{
	bool answers = m->icmp.flags & ADVERTISEMENT_SOLICITED && m->ip.daddr.s6_addr[0] != 0xff;

	return in6_is_link_local(&m->ip.saddr) || in6_same(&m->ip.saddr, &m->target) || answers;
}

/* `payload`: bytes after the IPv6 header, as that says. */
static __always_inline bool neighbour_message_holds(const struct neighbour_message *m,
						    __u32 payload)
{
	const struct in6_addr *src = &m->ip.saddr;

	if (m->ip.hop_limit != HOP_LIMIT_OF_LINK || m->icmp.code)
		return false;
	switch (m->icmp.type) {
	case ROUTER_SOLICITATION:
		return in6_is_link_local(src) || in6_is_unspecified(src);
	case ROUTER_ADVERTISEMENT:
		return payload >= 16 && in6_is_link_local(src);
	case NEIGHBOUR_SOLICITATION:
		return payload >= 24 &&
		       (in6_is_link_local(src) || in6_same(&m->ip.daddr, &m->target) ||
			in6_is_solicited_node(&m->ip.daddr, &m->target));
	case NEIGHBOUR_ADVERTISEMENT:
		return payload >= 24 && advertisement_holds(m);
	case REDIRECT:
		return payload >= 40 && in6_is_link_local(src);
	}
	return false;
}

/* Does ICMPv6 follow the IPv6 header, so that the message begins where that does? */
static __always_inline bool neighbour_message_may(const struct packet *p)
{
	return !(p->flags & (PACKET_IPV4 | PACKET_EXTENDED));
}

/* How much of the packet is to be looked at. */
static __always_inline bool neighbour_has_target(const struct packet *p)
{
	return p->payload >= sizeof(struct neighbour_message) - sizeof(struct ipv6hdr);
}
