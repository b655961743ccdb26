/* SPDX-License-Identifier: GPL-2.0-only */
/* The instance as attach made it, and the answers of programs that are run but never attached. Part
 * of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

/* How far into a frame its transport header may begin, 2^n - 1; the smaller one for copies on a
 * device whose frames fit a page. Such a copy has room for the transport header too. */
#define RL_HEADERS_REACH       0x1fff
#define RL_HEADERS_REACH_SMALL 0x1ff
#define RL_HEADERS_SIZE(reach) ((reach) + 1 + 64)

enum rl_hook { RL_HOOK_XDP, RL_HOOK_INGRESS, RL_HOOK_EGRESS };

/* Which program stands at the hook. At ingress and egress it is tc's, at xdp in mode tc as well: at
 * ingress, where the device runs no XDP that would limit. */
enum rl_mode { RL_MODE_NATIVE, RL_MODE_GENERIC, RL_MODE_TC };

/* This machine's sockets say whether a packet is established, or its connection tracking does. */
enum rl_proof { RL_PROOF_SOCKETS, RL_PROOF_CONNTRACK };

#define RL_CHALLENGE_RATE   1000000 /* answers a second, unless attach says otherwise */

#define RL_COMPANION_COMING 0xffffffffu /* its id is not known yet */
#define RL_ROOT_OPTIONS_MAX 256         /* of a qdisc, as the kernel reports them */

/* The instance as attach made it; read by every other command, not by packets. */
struct rl_instance {
	__u32 abi_version;
	__u32 hook;    /* enum rl_hook */
	__u32 by_dest; /* 1: goes by destination */
	__u32 mtu;     /* of the device at attach, bytes */
	__u32 mode;    /* enum rl_mode */
	__u32 ifindex;
	__u64 since_ns;     /* CLOCK_REALTIME */
	__u64 tick_ns;      /* length of a tick */
	__u64 tick_base_ns; /* jiffies * tick_ns + tick_base_ns = CLOCK_MONOTONIC, late by <= 1 tick
			     */
	__u32 sources;      /* capacity of the state map */
	__u32 prefixes;     /* that a policy may have; half as many as counter slots */
	__u32 slots;        /* that are not in chunks, and may have batches */
	__u32 rules;        /* capacity of one half of the rules array */
	__u32 bans;         /* capacity of the ban map */
	__u32 table;        /* enum rl_table */
	__u32 log_depth;    /* a power of two */
	__u32 cpus;         /* online at attach; 1: nothing is shared between CPUs */
	__u32 cache_sets;   /* of the prefix cache, a power of two */
	__u32 hot_sets;     /* of the hot table, a power of two; 0: there is none */
	__u32 possible_cpus; /* that may come online, these among them */
	__u64 hot_seed[2];   /* of its hash */
	__u32 raw_ip;        /* 1: the device's packets have no Ethernet header */
	__u32 outer_ip;      /* 1: but there may be the headers of a tunnel before them */
	__u32 made_clsact;   /* 1: the device's clsact is ours to take away */
	__u32 put_fq;        /* 1: so is its fq, and what was there is to come back */
	__u32 root_size; /* bytes of root_options; root_handle 0: the kernel's default was there */
	__u32 root_handle;
	__u64 program_uses;   /* of RL_USE_PROGRAM, what its program has the code for at least */
	__u32 proof;          /* enum rl_proof */
	__u32 challenge_rate; /* answers a second that it sends at most; 0: RL_CHALLENGE_RATE */
	__u32 companion; /* id of its program at egress that notes what this machine asks; 0: none
			  */
	char root_kind[16];
	__u8 root_options[RL_ROOT_OPTIONS_MAX];
};
_Static_assert(sizeof(struct rl_instance) == 432, "rl_instance");

/* Both clocks at one instant. */
struct rl_clocks {
	__u64 jiffies;
	__u64 monotonic_ns;
};
_Static_assert(sizeof(struct rl_clocks) == 16, "rl_clocks");

/* Is there a network namespace of that inode number? */
enum rl_netns { RL_NETNS_UNKNOWN, RL_NETNS_NONE, RL_NETNS_LISTED };
