// SPDX-License-Identifier: GPL-2.0-only
/* A list is searched: 64 comparisons are less than a call of the kernel. */
#include "watch/local_addresses.h"

#include <string.h>

#include "base/units.h"

#define IPV4_AT             12 /* of a mapped address */
#define IPV4_MULTICAST      0xe0
#define IPV4_MULTICAST_MASK 0xf0
#define IPV6_MULTICAST      0xff

static struct local_address *address_find(struct local_addresses *local, const uint8_t addr[16])
{
	for (size_t i = 0; i < local->count; i++) {
		struct local_address *at = &local->list[i];

		if (prefix_contains(at->addr, at->len, addr))
			return at;
	}
	return NULL;
}

/* Multicast, or IPv4's broadcast on every network. */
static bool is_to_everybody(const uint8_t addr[16])
{
	static const uint8_t broadcast[4] = {0xff, 0xff, 0xff, 0xff};

	if (!prefix_is_ipv4(addr, 128))
		return addr[0] == IPV6_MULTICAST;
	return (addr[IPV4_AT] & IPV4_MULTICAST_MASK) == IPV4_MULTICAST ||
	       !memcmp(addr + IPV4_AT, broadcast, sizeof(broadcast));
}

enum local_way local_way_of(struct local_addresses *local, const struct captured *captured,
			    const struct local_packet *packet)
{
	struct local_address *src = NULL, *dst = NULL;

	if (packet->has_addresses) {
		src = address_find(local, packet->src);
		dst = address_find(local, packet->dst);
	}
	if (src)
		src->sent++;
	if (dst)
		dst->arrived++;
	if (captured->sent || (src && !dst))
		return LOCAL_SENT;
	if (dst || !packet->has_addresses || is_to_everybody(packet->dst))
		return LOCAL_ARRIVES;
	return LOCAL_ELSEWHERE;
}
