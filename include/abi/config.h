/* SPDX-License-Identifier: GPL-2.0-only */
/* The constants of a program: user/kernel/attach/object.c writes them before it is loaded, and the
 * kernel removes the code that false ones lead to. Part of rlctl_abi.h; no map has them.
 */
#pragma once

#include <stdbool.h>
#include <linux/types.h>

#include "abi/policy.h"
#include "abi/state.h"

/* X(NAME, RL_USE_…): true if the program has to have one of these. */
#define RL_CONFIG_USES(X)                                                                \
	X(matches_extra, RL_USE_EXTRAS | RL_USE_PAYLOAD | RL_USE_FILTERS | RL_USE_PARTS) \
	X(matches_payload, RL_USE_PAYLOAD)                                               \
	X(runs_filters, RL_USE_FILTERS)                                                  \
	X(reads_vlans, RL_USE_VLANS)                                                     \
	X(walks_index, RL_USE_INDEX | RL_USE_SET_RULES)                                  \
	X(walks_sets, RL_USE_SET_RULES)                                                  \
	X(asks_proof, RL_USE_PROOF)                                                      \
	X(knows_sources, RL_USE_NEW_SOURCE)                                              \
	X(known_by_match, RL_USE_KNOWN_BY)                                               \
	X(has_alarms, RL_USE_ANY_ALARMS)                                                 \
	X(counts_alarms, RL_USE_ALARMS)                                                  \
	X(keeps_states, RL_USE_ANY_STATES)                                               \
	X(has_flows, RL_USE_FLOWS) /* these have the maps of that name */                \
	X(has_windows, RL_USE_WINDOWS)                                                   \
	X(has_logs, RL_USE_LOGS)                                                         \
	X(has_fleet, RL_USE_FLEET)                                                       \
	X(has_accounts, RL_USE_ACCOUNTS)                                                 \
	X(shares_limits, RL_USE_PARTS)                                                   \
	X(counts_connections, RL_USE_CONNECTIONS)                                        \
	X(truncates, RL_USE_TRUNCATE)
#define RL_CONFIG_FIELD(name, uses) bool name;

struct rl_config {
	__u64 hot_seed[2];        /* of all hashes but asked.h's; drawn at attach */
	__u64 clock_tick_ns;      /* as rl_instance.tick_ns */
	__u64 clock_tick_base_ns; /* and tick_base_ns */
	/* From one creation of a state in each LRU to the next, of each CPU. */
	__u64 creation_ns[RL_LRU_COUNT];
	struct rl_gcra answers_rate;  /* of answers, by all CPUs */
	struct rl_gcra existing_rate; /* of SYNs for connections that exist */
	__u32 answers_batch;          /* packets */
	__u32 headers_reach;          /* RL_HEADERS_REACH or RL_HEADERS_REACH_SMALL */
	__u32 counters_cpus;          /* possible CPUs; 1: all share a block */
	__u32 log_depth;              /* a power of two */
	/* Sets of tables, which are powers of two, less one. */
	__u32 hot_mask, refusal_mask, cache_mask, known_mask, connection_mask;
	__u16 challenge_mss4, challenge_mss6; /* of the device's MTU */
	__u8 keys_by;                         /* enum keys_by */

	bool frames_are_skbs;      /* hook ingress or egress */
	bool frames_leave;         /* hook egress: the source is this machine */
	bool frames_in_pieces;     /* the device's MTU is larger than a page holds */
	bool frames_have_ethernet; /* else they begin with IP, */
	bool frames_have_outer;    /* or, on a GRE device, with what is around it */
	bool goes_by_dest;
	bool has_peers;   /* RL_USE_PROOF, by sockets */
	bool keeps_asked; /* RL_USE_ASKED, by sockets */
	bool challenges;  /* RL_USE_CHALLENGE, where XDP runs */
	RL_CONFIG_USES(RL_CONFIG_FIELD)

	/* Simulations and tests: */
	bool clock_injected;      /* bpf/clock.h */
	bool frames_are_captured; /* some before they were segmented */
	bool simulated_in_turn;   /* this kernel can go on with the next packet */
	bool no_shortcuts; /* limits are asked in the order in which they stand, and no filter
			    * says beforehand which look-up would find nothing */
};
