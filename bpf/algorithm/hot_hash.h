/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash of the hot table, the refusals and the prefix cache. Pure; compiles for BPF and for the
 * host. A keyed mix of 128 bits, at the end with the multiplications and shifts of MurmurHash3's
 * finalizer (A. Appleby); the seed is drawn at attach, so that nobody can send sources that meet in
 * one set.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/key_len.h"
#include "rlctl_abi.h"

#define HOT_GENERATION 0xd6e8feb86659fd93ULL /* odd: spreads a policy's generation over a tag */

/* `high` is multiplied by secrets twice before it meets `low`: with constants, a
 * chosen difference of the one would cancel one of the other under every seed. `low` is folded
 * before it is multiplied, because hosts of one net differ only in its upper bits. */
static __always_inline __u64 hot_hash(const volatile __u64 seed[2], __u64 high, __u64 low)
{
	__u64 h = (high ^ seed[0]) * (seed[1] | 1);

	h = (h ^ h >> 32) * (seed[0] | 1);
	h ^= h >> 32 ^ low ^ seed[1];
	h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ULL;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	return h ^ h >> 32;
}

/* The same for one word, as most keys have it: an IPv4 address or an IPv6 network. The families
 * take the seeds the other way round, so that a network that looks like an address is none. */
static __always_inline __u64 hot_hash_word(const volatile __u64 seed[2], bool ipv4, __u64 word)
{
	__u64 h = (word ^ seed[ipv4]) * (seed[!ipv4] | 1);

	h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ULL;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	return h ^ h >> 32;
}

/* An address, mapped, by the lengths that keys have where nothing else is said. */
static __always_inline __u64 hot_hash_address(const volatile __u64 seed[2], bool ipv4,
					      const __u64 addr[2])
{
	if (ipv4)
		return hot_hash_word(seed, true, addr[1]);
	if (address_is_alone(addr))
		return hot_hash(seed, addr[0], addr[1]);
	return hot_hash_word(seed, false, addr[0]);
}

/* An address by the lengths of a limit. */
static __always_inline __u64 hot_hash_masked(const volatile __u64 seed[2], bool ipv4,
					     const __u64 addr[2], const struct rl_rule *rule)
{
	return hot_hash(seed, ipv4 ? 0 : addr[0] & rule->mask6[0],
			addr[1] & key_low_mask(rule, ipv4, addr));
}
