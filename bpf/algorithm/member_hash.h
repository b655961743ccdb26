/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a member of a set stands in the table (abi/sets.h). Pure; compiles for BPF and for the
 * host.
 */
#pragma once

#include "algorithm/hot_hash.h"

/* Odd: spreads the length of a prefix over an address. */
#define MEMBER_LEN_SPREAD 0x9e3779b97f4a7c15ULL

/* `addr` as it stands in a packet, with the bits after the length zero; 0..32. */
static __always_inline __u64 member_hash4(const volatile __u64 seed[2], __u32 addr, __u32 len)
{
	return hot_hash_word(seed, true, addr | (__u64)len << 32);
}

/* The same of an IPv6 address; 0..128. */
static __always_inline __u64 member_hash6(const volatile __u64 seed[2], const __u64 addr[2],
					  __u32 len)
{
	return hot_hash(seed, addr[0] + len * MEMBER_LEN_SPREAD, addr[1]);
}

/* rl_member_layout.pages4, pages6 of so many pages: the mask covers the highest number. */
static __always_inline __u64 member_pages(__u32 count)
{
	__u32 mask = 0;

	while (mask < count - 1)
		mask = mask << 1 | 1;
	return count ? (__u64)mask << 32 | count : 0;
}

/* The page of a hash; `pages` is not 0. */
static __always_inline __u32 member_page(__u64 hash, __u64 pages)
{
	__u32 mask = pages >> 32, page = hash & mask;

	return page < (__u32)pages ? page : page & mask >> 1;
}

/* The line within the page, by other bits than the page. */
static __always_inline __u32 member_line(__u64 hash, __u32 lines)
{
	return (hash >> 32) * lines >> 32;
}

static __always_inline __u32 guide4_index(__u32 addr_host_order)
{
	return addr_host_order >> (32 - RL_GUIDE4_BITS);
}

/* By the first 32 bits of an IPv6 address, as they stand in a packet. Seeded: members that others
 * choose would else meet in one entry, and each length there costs addresses around it a look-up.
 */
static __always_inline __u32 guide6_index(const volatile __u64 seed[2], __u32 first)
{
	return hot_hash_word(seed, false, first) & (RL_GUIDE6_SIZE - 1);
}

_Static_assert(!(RL_GUIDE6_SIZE & (RL_GUIDE6_SIZE - 1)), "a mask");

static __always_inline __u32 member_time(__u64 monotonic_ns)
{
	return monotonic_ns >> RL_MEMBER_TIME_SHIFT;
}

static __always_inline bool member_expired(__u32 expires, __u32 now)
{
	return expires && (__s32)(expires - now) <= 0;
}
