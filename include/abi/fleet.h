/* SPDX-License-Identifier: GPL-2.0-only */
/* Fleets (bpf/limit/backend_fleet.h): what this member may spend of limits that many share. Amounts
 * are grains of a packet or a byte (RL_FLEET_*_SHIFT), rates grains in 2^RL_FLEET_RATE_SHIFT ns.
 * Part of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

#define RL_FLEET_PACKET_SHIFT 20
#define RL_FLEET_BYTE_SHIFT   8
#define RL_FLEET_RATE_SHIFT   44
#define RL_FLEET_LIMITS       1024  /* of one instance */
#define RL_FLEET_GRANTS       32768 /* keys that hold a lease */

/* A limit, by its id: the clock of grains that every key has, until `until` as the fleet's
 * member, from then on alone. Written by the agent only. A fixed window's caps are amounts. */
struct rl_fleet_phase {
	__u64 grains; /* at the phase's beginning, modulo 2^64 */
	__u64 rate;
	__u64 cap;
};
struct rl_fleet_limit {
	__u64 since_ns; /* when phase 0 began; phase 1 begins at until_ns */
	__u64 until_ns;
	struct rl_fleet_phase phase[2];
};
_Static_assert(sizeof(struct rl_fleet_limit) == 64, "rl_fleet_limit");

/* A key that the fleet has leased more to. Written by the agent only. For a fixed window:
 * `grains` is the amount leased in the window that `since_ns` names, and until_ns ends with it. */
struct rl_fleet_grant {
	__u64 since_ns;
	__u64 until_ns;
	struct rl_fleet_phase phase;
};
_Static_assert(sizeof(struct rl_fleet_grant) == 40, "rl_fleet_grant");

/* A key, written by packets only. */
struct rl_fleet_key {
	__u64 word;     /* decides: a bucket's, in grains, or of a window: its name << 48 | spent */
	__u64 used;     /* packets or bytes that passed, since ever; a CPU may lose another's */
	__u64 refused;  /* the same, of those that did not */
	__u64 asked_ns; /* when it was last reported to the agent */
};
_Static_assert(sizeof(struct rl_fleet_key) == 32, "rl_fleet_key");
#define RL_FLEET_SPENT_BITS 48

/* How a member is doing, for `fleet status` and `fleet leave`. An agent that ends without
 * leaving keeps the fleet and the number of members for the next one. */
#define RL_FLEET_NAME    64
#define RL_FLEET_MEMBERS 64 /* that are listed by name */
struct rl_fleet_session {
	__u64 since_ns;   /* CLOCK_REALTIME; 0: there is none */
	__u64 updated_ns; /* CLOCK_MONOTONIC */
	__u64 lag_ns;     /* of the last answer */
	__u64 leases;     /* keys that hold one */
	__u64 shed;       /* keys that had to wait since there were too many; sum */
	__u64 lost;       /* times that Redis was lost */
	__u32 pid;
	__u32 leave;  /* written by `fleet leave`: 1 */
	__u32 shared; /* 1: limits are shared; 0: held alone, to a part */
	__u32 members;
	char fleet[RL_FLEET_NAME];
	char node[RL_FLEET_NAME];
	char server[RL_FLEET_NAME];
	char member[RL_FLEET_MEMBERS][RL_FLEET_NAME];
};
_Static_assert(sizeof(struct rl_fleet_session) == 64 + (3 + RL_FLEET_MEMBERS) * RL_FLEET_NAME,
	       "rl_fleet_session");
