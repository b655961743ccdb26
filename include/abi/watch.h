/* SPDX-License-Identifier: GPL-2.0-only */
/* Watching packets (bpf/watch.h): up to RL_WATCHERS processes watch at once. Each has a place on
 * the board, a ring of its own, and two streams: of packets that are dropped, and that pass. Part
 * of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

#define RL_WATCHERS   4
#define RL_WATCH_ANY  0xffffffffu /* as counter_id: every rule (rl_watcher), none (rl_sample) */
#define RL_FRAME_KEPT 256

/* Set by the watcher. How packets become samples: bpf/algorithm/sampling.h. */
struct rl_stream {
	__u64 begin_ns; /* of slot 0 */
	__u64 slot_ns;
	__u32 keep;    /* of a slot's packets on one CPU, as many as are sure to be handed over */
	__u32 ceiling; /* packets with this tag or a larger one are not handed over */
	__u64 pad;
};
_Static_assert(sizeof(struct rl_stream) == 32, "half a cache line");

/* A place is taken while until_ns lies ahead (CLOCK_MONOTONIC, the packets read it by the tick). */
struct rl_watcher {
	__u64 until_ns;
	__u32 reasons;    /* bits, by enum rl_reason */
	__u32 counter_id; /* only packets that this rule decided, or that it let pass */
	__u64 addr[2];    /* only packets from or to an address that is this under the mask, */
	__u64 mask[2];    /* in network order, */
	__u8 family;      /* and of this family, 4 or 6; 0: every packet */
	__u8 pad[15];
	struct rl_stream stream[2]; /* dropped, passed */
};
_Static_assert(sizeof(struct rl_watcher) == 128, "rl_watcher: two cache lines");

struct rl_board {
	__u32 on; /* 0: nobody watches; all that most packets read of it */
	__u32 pad[15];
	struct rl_watcher watcher[RL_WATCHERS];
};
_Static_assert(sizeof(struct rl_board) == 64 + RL_WATCHERS * 128, "rl_board");

/* One stream on one CPU; zeroed before a watcher takes its place. */
struct rl_watch_count {
	__u64 packets;     /* that the watcher asked for */
	__u64 lost;        /* that the ring had no room for */
	__u64 slot_end_ns; /* of the slot in `now` */
	__u64 now;         /* slot << 32 | its packets, each written at once */
	__u64 before;      /* the same of the slot before it that had packets */
};
_Static_assert(sizeof(struct rl_watch_count) == 40, "rl_watch_count");

/* One packet that may be a sample. */
struct rl_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 now;     /* of its rl_watch_count, itself included */
	__u64 before;
	__u32 tag; /* random */
	__u16 cpu;
	__u16 vlan;       /* where a rule asks for it, else 0 */
	__u32 bytes;      /* on the wire, without FCS */
	__u32 packets;    /* on the wire: more than 1 where an skb holds several segments */
	__u32 counter_id; /* of the rule that decided, or of the first that let it pass */
	__u16 kept;       /* bytes of frame */
	__u16 sport, dport;
	__u16 alarms; /* bits: those that have counted it, by their place in rl_alarms */
	__u16 has_ports;
	__u8 reason; /* enum rl_reason; non-ip and malformed: no addresses, no protocol */
	__u8 proto;
	__u8 src[16], dst[16];
	__u8 frame[RL_FRAME_KEPT];
};
_Static_assert(sizeof(struct rl_sample) == 344, "rl_sample");
