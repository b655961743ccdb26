/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of a limit as packets read them, by algorithm; bpf/algorithm/ has a file for each.
 * Part of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

/* Both buckets as a GCRA (ATM Forum TM 4.0; RFC 2697 with one bucket): see bpf/algorithm/gcra.h.
 * A grain is 1/16 ns. */
#define RL_GRAIN_SHIFT 4
struct rl_gcra {
	__u64 capacity;   /* grains: the burst (or queue) as time; <= 2^62 */
	__u64 cost;       /* grains << cost_shift that one packet or byte takes */
	__u32 cost_shift; /* 0..24 */
	__u32 cost_max;   /* packets or bytes: more than this never fits */
};
_Static_assert(sizeof(struct rl_gcra) == 24, "rl_gcra");

#define RL_SHARES_MAX  8  /* limits with `share` of a policy, or with `keep` */
#define RL_SHARE_SHIFT 12 /* 2^-12 of a packet or byte */

/* The classes of senders. Unasked: packets that came while all fitted, which are asked for nothing.
 */
enum rl_share_class {
	RL_SHARE_ESTABLISHED,
	RL_SHARE_KNOWN,
	RL_SHARE_STRANGER,
	RL_SHARE_CLASSES,
	RL_SHARE_UNASKED = RL_SHARE_CLASSES,
	RL_SHARE_COUNTS,
};

/* The numbers of a limit, in the place of rl_rule.gcra. */
struct rl_parts {
	struct rl_gcra gcra; /* of the whole: first, as in rl_rule */
	__u64 reserve;       /* keep: grains of gcra.capacity that are for one class */
	__u64 room; /* share: what the limit gives in a step, a little less than its rate */
	__u32 step_ns;
	__u8 weight[RL_SHARE_CLASSES]; /* of 100 */
	__u8 index;                    /* which element of rl_shares.share, 0..RL_SHARES_MAX - 1 */
	__u32 packet;                  /* packets or bytes of a full packet: 1, or the MTU's */
	__u8 keep_for;                 /* keep: as in rl_limit */
	__u8 classes;    /* 1: of senders; 0: share with `per`, all packets are of one class */
	__u8 bins_shift; /* the limit has one of 1 << bins_shift regions of the bins */
	__u8 drops;      /* 1: packets over it are dropped */
};
_Static_assert(sizeof(struct rl_parts) == 56, "rl_parts");

/* Fixed window, sliding window and sliding log: bpf/algorithm/ has a file for each. */
struct rl_window {
	__u64 amount;      /* N: packets or bytes in a window */
	__u64 period_ns;   /* P */
	__u32 slots;       /* sliding-window: 2..16 */
	__u32 amount_bits; /* sliding-window: N < 2^amount_bits */
};
_Static_assert(sizeof(struct rl_window) == 24, "rl_window");

/* Warm-up, see bpf/algorithm/warm_up.h. Permits are in 2^-16, times in grains. */
struct rl_warm_up {
	__u64 max;
	__u64 threshold;
	__u64 stable;
	__u64 burst;  /* lateness that is given back */
	__u64 refill; /* permits in a grain, << refill_shift */
	__u64 climb;  /* of twice the permits above the threshold >> climb_drop, << climb_shift */
	__u8 refill_shift;
	__u8 climb_shift;
	__u8 climb_drop;
	__u8 ramp_bits; /* the ramp is shorter than 1 << ramp_bits; so much refills all */
	__u16 most;     /* permits that one packet may cost: 1, or more where it may be several */
	__u8 pad2[2];
};
_Static_assert(sizeof(struct rl_warm_up) == 56, "rl_warm_up");

/* A key whose state would be larger than a word, while the hot table holds it:
 * bpf/limit/backend_unconfirmed.h. In grains. */
struct rl_unconfirmed {
	__u64 span; /* how long one admitted packet matters */
	__u64 wait; /* from the first to the second */
	__u64 pace; /* from one to the next, where no state can be made */
};
_Static_assert(sizeof(struct rl_unconfirmed) == 24, "rl_unconfirmed");
