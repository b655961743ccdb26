/* SPDX-License-Identifier: GPL-2.0-only */
/* Proof of source, beside the kernel's own sockets: who of two peers sent first. Part of
 * rlctl_abi.h.
 */
#ifndef RLCTL_ABI_PROOF_H
#define RLCTL_ABI_PROOF_H

#include <linux/types.h>

/* Conversations of UDP and ICMP echo: bpf/algorithm/asked.h. A set is one cache line. The first
 * ways hold those that this machine began, the others those that the peer began, so that neither
 * pushes out the other. A way is 0 where it is empty. */
#define RL_ASKED_WAYS 4
#define RL_ASKED_SETS 8192u /* a power of two */
struct rl_asked_set {
	__u64 ours[RL_ASKED_WAYS];
	__u64 theirs[RL_ASKED_WAYS];
};
_Static_assert(sizeof(struct rl_asked_set) == 64, "a cache line");

/* served: for each UDP port of this machine, when a peer last began there. */
#define RL_ASKED_PORTS 65536u
struct rl_asked {
	struct rl_asked_set sets[RL_ASKED_SETS];
	__u8 served[RL_ASKED_PORTS];
};

/* The rate of answers that the program sends itself (over challenge, over truncate): the bucket,
 * then what each possible CPU has taken from it. bpf/answer.h */
struct rl_answers {
	__u64 word; /* the bucket, of rl_instance.challenge_rate */
	__u64 left; /* a CPU's */
	__u64 since_ns;
	__u64 existing; /* a bucket: SYNs of connections that exist */
	__u64 pad[4];
};
_Static_assert(sizeof(struct rl_answers) == 64, "a cache line");

/* Where time is injected, and sockets of this machine say nothing about a packet: what they would
 * have said. Bound: a UDP socket waits for it, and is connected to nobody. */
enum rl_simulated_proof { RL_SIMULATED_NONE, RL_SIMULATED_ESTABLISHED, RL_SIMULATED_BOUND };

#endif
