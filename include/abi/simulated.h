/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets of a capture that run in one system call: memory that the command and the program
 * rlctl_simulate() share. The command writes packets, the program their results.
 */
#pragma once

#include <linux/types.h>

#define RL_SIMULATED_MAX   256u       /* packets in a batch */
#define RL_SIMULATED_DATA  (1u << 17) /* a power of two: bytes in which they begin */
#define RL_SIMULATED_FRAME 3072u      /* most bytes of one; there is room in a test run's frame */

struct rl_simulated {
	__u64 time_ns;
	__u32 bytes; /* length of the frame; 0: that of what there is of it */
	__u32 at;    /* where its bytes begin, less than RL_SIMULATED_DATA */
	__u32 size;  /* how many there are, from ETH_HLEN on; 0: the frame of the test run */
	/* results */
	__u32 reason;     /* enum rl_reason */
	__u32 counter_id; /* of the rule that decided, as in rl_sample */
	__u32 cut;        /* a rule asked for bytes that were not captured */
};
_Static_assert(sizeof(struct rl_simulated) == 32, "ABI");

struct rl_simulated_batch {
	__u32 count;
	__u32 done; /* results */
	struct rl_simulated packets[RL_SIMULATED_MAX];
	__u8 data[RL_SIMULATED_DATA + RL_SIMULATED_FRAME];
};
_Static_assert(sizeof(struct rl_simulated_batch) ==
		       8 + 32 * RL_SIMULATED_MAX + RL_SIMULATED_DATA + RL_SIMULATED_FRAME,
	       "ABI");
