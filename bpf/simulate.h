/* SPDX-License-Identifier: GPL-2.0-only */
/* For rlctl simulate: packets of a capture, of which one test run takes many. The frame of the test
 * run becomes one after the other.
 */
#pragma once

#include "abi/simulated.h"
#include "clock.h"
#include "common.h"
#include "match/payload.h"
#include "packet/xdp.h"

/* Both exist in simulations only. */
MAP(simulated, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct rl_simulated_batch);

/* The program itself; a test run takes as many packets as the kernel allows tail calls, and one. */
MAP(simulate_again, PROG_ARRAY, 0, 1, __u32, __u32);

/* The result of a frame, with clock_injected. Dead code elsewhere. */
volatile __u32 simulated_reason = 0;     /* enum rl_reason */
volatile __u32 simulated_counter_id = 0; /* of the rule that decided, as in rl_sample */

/* False: it could not be made. */
static __always_inline bool simulated_frame_make(struct xdp_md *ctx,
						 const struct rl_simulated_batch *batch,
						 const struct rl_simulated *packet)
{
	__u64 at = packet->at & (RL_SIMULATED_DATA - 1), size = packet->size;

	if (!size)
		return true;
	if (bpf_xdp_adjust_tail(ctx, (int)size - (int)bpf_xdp_get_buff_len(ctx)))
		return false;
	barrier_var(size);
	if (size < ETH_HLEN || size > RL_SIMULATED_FRAME)
		return false;
	return !bpf_xdp_store_bytes(ctx, 0, (void *)batch->data + at, size);
}

/* The frame becomes the next packet's, and the clock. NULL: there is none, or it cannot be. */
static __always_inline struct rl_simulated *simulated_begin(struct xdp_md *ctx,
							    struct rl_simulated_batch *batch)
{
	__u32 next = batch ? batch->done : RL_SIMULATED_MAX;
	struct rl_simulated *packet;

	if (next >= RL_SIMULATED_MAX)
		return NULL;
	packet = &batch->packets[next];
	clock_now_ns = packet->time_ns;
	simulated_bytes = packet->bytes;
	simulated_cut = 0;
	return simulated_frame_make(ctx, batch, packet) ? packet : NULL;
}

static __always_inline void simulated_end(struct rl_simulated_batch *batch,
					  struct rl_simulated *packet)
{
	packet->reason = simulated_reason;
	packet->counter_id = simulated_counter_id;
	packet->cut = simulated_cut;
	batch->done++;
}
