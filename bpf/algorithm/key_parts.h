/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of keys. Pure, for the program, the command line and tests. */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

#define KEY_ADDRESSES (RL_PART_SOURCE | RL_PART_DEST)

/* The parts that keys of a policy may have: those of a value, and of the lower ones. */
enum keys_by {
	KEYS_BY_NO_PARTS, /* none is an RL_KEY_PARTS */
	KEYS_BY_PARTS,
	KEYS_BY_MEMBER, /* RL_PART_MEMBER */
	KEYS_BY_VLAN,   /* RL_PART_VLAN */
};

/* The parts of a key of any kind. */
static __always_inline __u8 key_parts(const struct rl_limit *limit)
{
	switch (limit->key) {
	case RL_KEY_SOURCE:
		return RL_PART_SOURCE;
	case RL_KEY_DEST:
		return RL_PART_DEST;
	case RL_KEY_SOURCE_DPORT:
		return RL_PART_SOURCE | RL_PART_DPORT;
	case RL_KEY_SOURCE_DEST:
		return KEY_ADDRESSES;
	case RL_KEY_FLOW:
		return RL_PARTS_FLOW;
	case RL_KEY_PARTS:
		return limit->key_parts;
	}
	return 0;
}

static __always_inline bool parts_are_member(const struct rl_limit *limit)
{
	return limit->key == RL_KEY_PARTS && limit->key_parts == RL_PART_MEMBER;
}

static __always_inline bool parts_are_account(const struct rl_limit *limit)
{
	return limit->key == RL_KEY_PARTS && limit->key_parts == RL_PART_ACCOUNT;
}

/* Is it a key that no part of a packet makes? */
static __always_inline bool parts_are_apart(const struct rl_limit *limit)
{
	return parts_are_member(limit) || parts_are_account(limit);
}

static __always_inline bool parts_have_both(__u8 parts)
{
	return (parts & KEY_ADDRESSES) == KEY_ADDRESSES;
}

/* Is the destination the key's first address? */
static __always_inline bool parts_begin_with_dest(__u8 parts)
{
	return (parts & KEY_ADDRESSES) == RL_PART_DEST;
}

/* Has the key what the first RL_SHORT_KEY bytes of a state's key have no room for? */
static __always_inline bool parts_are_long(__u8 parts)
{
	return parts & (RL_PART_PROTO | RL_PART_VLAN) || parts_have_both(parts);
}

/* The lengths of the destination where both addresses count. */
static __always_inline __u8 key_dest_len4(const struct rl_limit *limit)
{
	return limit->key == RL_KEY_PARTS ? limit->dest_len4 : limit->key_len4;
}

static __always_inline __u8 key_dest_len6(const struct rl_limit *limit)
{
	return limit->key == RL_KEY_PARTS ? limit->dest_len6 : limit->key_len6;
}
