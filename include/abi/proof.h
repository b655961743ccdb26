/* SPDX-License-Identifier: GPL-2.0-only */
/* Proof of source, beside the kernel's own sockets: who of two peers sent first, and with whom this
 * machine has anything to do. Part of rlctl_abi.h.
 */
#pragma once

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

/* The instances of a network namespace share one. seed: of its hash, drawn when it is made. served:
 * for each UDP port of this machine, when a peer last began there. */
#define RL_ASKED_PORTS 65536u
struct rl_asked {
	struct rl_asked_set sets[RL_ASKED_SETS];
	__u64 seed[2];
	__u8 served[RL_ASKED_PORTS];
};

/* The filter of peers: the addresses with which this machine has anything established, or which it
 * asked (bpf/algorithm/peers.h). An address is a tag in a set; a way of a set has the tag, how many
 * sockets there are, and when the last question was. The last word of a set counts what found no
 * way: these are in a set of `more`, of which no other packet touches a line. fed: 1 while links
 * feed it, so that an address that is not in it is nobody's. The instances of a network namespace
 * share one, so that there is one size for all.
 */
#define RL_PEER_WAYS 7
#define RL_PEER_SETS 8192u              /* a power of two */
#define RL_PEER_MORE (4 * RL_PEER_SETS) /* a power of two */
struct rl_peer_set {
	__u32 ways[RL_PEER_WAYS + 1];
};
_Static_assert(sizeof(struct rl_peer_set) == 32, "half a cache line");

struct rl_peers {
	__u64 seed[2]; /* of its hash, drawn when it is made */
	__u32 fed;
	__u32 unused[3];
	struct rl_peer_set sets[RL_PEER_SETS], more[RL_PEER_MORE];
};
_Static_assert(sizeof(struct rl_peers) == 32 + 32 * (RL_PEER_SETS + RL_PEER_MORE),
	       "no set in two cache lines");

/* Answers that the program sends itself (over challenge, over truncate): their rate's bucket, then
 * to which Ethernet addresses frames are answered, then what each possible CPU has taken from the
 * bucket. bpf/answer/answer.h */
#define RL_ANSWERS_ADDRESSES  1 /* that element */
#define RL_ANSWERS_CPUS       2 /* the first of theirs */
#define RL_ANSWER_ADDRESS_MAX 8
struct rl_answers {
	union {
		struct {
			__u64 word; /* the bucket, of rl_instance.challenge_rate */
			__u64 left; /* a CPU's */
			__u64 since_ns;
			__u64 existing; /* a bucket: SYNs of connections that exist */
		};
		/* rl_answer_address(). The first 0: frames to any are answered. */
		__u64 address[RL_ANSWER_ADDRESS_MAX];
	};
};
_Static_assert(sizeof(struct rl_answers) == 64, "a cache line");

/* As it stands in a frame. */
static inline __u64 rl_answer_address(const __u16 words[3])
{
	return words[0] | (__u64)words[1] << 16 | (__u64)words[2] << 32;
}

/* Where time is injected, and sockets of this machine say nothing about a packet: what they would
 * have said. Bound: a UDP socket waits for it, and is connected to nobody. */
enum rl_simulated_proof { RL_SIMULATED_NONE, RL_SIMULATED_ESTABLISHED, RL_SIMULATED_BOUND };
