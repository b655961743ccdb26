/* SPDX-License-Identifier: GPL-2.0-only */
/* How many bits of an IPv6 address a key counts: as many as its limit says, but where that is the
 * usual 64, all of an address whose /64 is not one site's. Those are link-local ones, where every
 * neighbour is in fe80::/64, and those that a NAT64 makes of IPv4 addresses (64:ff9b::/96,
 * RFC 6052). Pure, so that the command line finds what the packets left.
 */
#pragma once

#include <stdbool.h>
#include <bpf/bpf_endian.h>

#include "rlctl_abi.h"

#define KEY_LEN6_USUAL  64
#define LINK_LOCAL      bpf_cpu_to_be64(0xfe80ULL << 48)
#define LINK_LOCAL_MASK bpf_cpu_to_be64(0xffc0ULL << 48)
#define NAT64_HIGH      bpf_cpu_to_be64(0x0064ff9b00000000ULL)
#define NAT64_LOW_MASK  bpf_cpu_to_be64(0xffffffff00000000ULL) /* zero in such an address */

static __always_inline __u64 mask_be64(__u32 bits)
{
	if (bits == 0)
		return 0;
	return bits >= 64 ? ~0ULL : bpf_cpu_to_be64(~0ULL << (64 - bits));
}

/* addr: an address as two halves in network order, and below. Is it an IPv4 address, mapped? */
static __always_inline bool address_is_mapped(const __u64 addr[2])
{
	return !addr[0] && !((addr[1] ^ bpf_cpu_to_be64(0xffffULL << 32)) & NAT64_LOW_MASK);
}

/* addr: an IPv6 address as two halves in network order. */
static __always_inline bool address_is_alone(const __u64 addr[2])
{
	if ((addr[0] & LINK_LOCAL_MASK) == LINK_LOCAL)
		return true;
	return addr[0] == NAT64_HIGH && !(addr[1] & NAT64_LOW_MASK);
}

static __always_inline __u32 key_len6_of(const __u64 addr[2], __u32 len6)
{
	return len6 == KEY_LEN6_USUAL && address_is_alone(addr) ? 128 : len6;
}

/* The mask of the lower half of an address under a limit; mask6 of rl_rule says the length. */
static __always_inline __u64 key_low_mask(const struct rl_rule *rule, bool ipv4,
					  const __u64 addr[2])
{
	if (ipv4)
		return rule->mask4;
	if (!rule->mask6[1] && rule->mask6[0] == ~0ULL && address_is_alone(addr))
		return ~0ULL;
	return rule->mask6[1];
}
