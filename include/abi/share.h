/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits that classes of senders share, `share` and `keep` of rlctl-policy(5): the
 * state that packets write; the numbers are struct rl_parts of abi/policy.h. Part of rlctl_abi.h.
 * The arithmetic, and where it comes from: bpf/algorithm/share.h.
 *
 * Amounts are packets or bytes, << RL_SHARE_SHIFT; rates are amounts in a step of the limit.
 */
#pragma once

#include <linux/types.h>

#include "abi/policy.h"

/* The bins of strangers, in three rows: by pattern, by network, by protocol and port. */
enum rl_share_row { RL_ROW_PATTERN, RL_ROW_NETWORK, RL_ROW_PORT, RL_ROWS };
#define RL_BINS_PATTERN 4096
#define RL_BINS_NETWORK 2048
#define RL_BINS_PORT    2048
#define RL_BINS         (RL_BINS_PATTERN + RL_BINS_NETWORK + RL_BINS_PORT)

struct rl_bin {
	__u64 recent; /* what came: 16 bits, the step of the last; below, the amount, decayed */
	__u64 full;   /* of the bucket that holds the bin to its part: when the clock of the class
		       * has drained it */
};
_Static_assert(sizeof(struct rl_bin) * RL_BINS == 128 << 10, "128 KiB");

#define RL_SHARE_SEEN_WORDS 64 /* bits: 4096 */
/* The part of a class. The packet that ends a step writes it, the others read. */
struct rl_share_part {
	__u64 clock;       /* advances by the pace: virtual time */
	__u64 depth;       /* of each sender's bucket: a few packets, and a step's pace */
	__u64 demand;      /* what the class sends in a step: an average, which rises at once */
	__u64 room;        /* of the limit's: what the class may send */
	__u64 spent;       /* of two rooms; refilled with one in a step */
	__u64 pace;        /* what each sender may send, or each bin of strangers */
	__u64 held;        /* senders, or bins, that need to be held to the pace */
	__u64 turns;       /* since not all that the class sends fits: steps, at most SHARE_TURNS */
	__u64 senders;     /* estimate of how many sent in the last period that has ended, */
	__u64 senders_now; /* and in this one, */
	__u64 seen_count;  /* with so many bits of their hashes: */
	__u64 seen[RL_SHARE_SEEN_WORDS];
};

/* Before a step ends, what came is looked at once. */
enum rl_share_early { RL_SHARE_UNLOOKED, RL_SHARE_LOOK, RL_SHARE_LOOKED };

struct rl_share {
	__u32 limit_id;                 /* whose state it is; 0: of none */
	__u32 step;                     /* number of this one */
	__u64 began_ns;                 /* when it began */
	__u64 busy_ns;                  /* until when senders are asked for their class */
	__u64 seen_ns;                  /* when the period of rl_share_part.seen began */
	__u64 early;                    /* enum rl_share_early: of this step */
	__u64 arrived[RL_SHARE_COUNTS]; /* rl_share_counts of all CPUs when this step began */
	__u64 admitted[RL_SHARE_COUNTS];
	struct rl_share_part part[RL_SHARE_CLASSES];
	__u64 generation; /* of the rule that these are of: */
	struct rl_parts parts;
};

/* The one element of the map `shares`. */
struct rl_shares {
	__u64 next_ns;   /* when a step of one of them ends; ~0: a packet is at it */
	__u64 busy_ns;   /* the latest of all limits' */
	__u64 uneasy_ns; /* until when nothing but proof makes a source known */
	struct rl_share share[RL_SHARES_MAX];
	struct rl_bin bins[RL_BINS];
};

/* Arrivals at a limit, and how much of them its classes admitted, in packets or bytes: of one CPU.
 * One after the other for each possible CPU, they are an element of the map `share_counts`, by
 * rl_parts.index. */
struct rl_share_counts {
	__u64 arrived[RL_SHARE_COUNTS];
	__u64 admitted[RL_SHARE_COUNTS];
	__u64 passed[RL_SHARE_COUNTS]; /* and how much passed the limit, too */
	__u64 pad[4];
};
_Static_assert(sizeof(struct rl_share_counts) == 128, "rl_share_counts: two cache lines");
