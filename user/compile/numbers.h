/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of a limit, as the data path uses them. */
#pragma once

#include "compile/compiled.h"
#include "policy/policy.h"

/* The numbers of a limit as the data path uses them; fields in rlctl_abi.h, arithmetic in
 * bpf/algorithm/. numbers_compile chooses the clock and fills the numbers of the algorithm. */
void gcra_compile(const struct rl_limit *limit, struct rl_gcra *out);
void window_compile(const struct rl_limit *limit, struct rl_window *out);
void warm_up_compile(const struct rl_limit *limit, struct rl_warm_up *out);
void numbers_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		     struct rl_rule *out);

/* Is its state a bucket: one word (bpf/algorithm/gcra.h)? */
bool limit_is_bucket(const struct rl_limit *limit);

/* Where its states are, as RL_USE_*. */
uint64_t limit_state_uses(const struct rl_limit *limit, const struct compile_context *ctx);

/* Is it a leaky bucket that delays packets? Only at egress, and not if packets over it pass. */
bool limit_paces(const struct rl_limit *limit, enum rl_hook hook);

/* The clock of a limit: precise if it paces; otherwise the tick clock if a burst (queue, window)
 * spans at least 16 ticks. */
enum rl_clock clock_choose(const struct rl_limit *limit, enum rl_hook hook, uint64_t tick_ns);
