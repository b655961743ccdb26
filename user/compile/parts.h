/* SPDX-License-Identifier: GPL-2.0-only */
/* `share` and `keep` of a limit, as the data path uses them: bpf/limit/backend_parts.h. */
#pragma once

#include "compile/build.h"

/* Has the limit one of them? */
bool limit_has_parts(const struct rl_limit *limit);

/* Does it ask whether a source is known? */
bool limit_asks_known(const struct rl_limit *limit);

/* The parts of the data path that it needs: RL_USE_*. */
uint64_t parts_uses(const struct rl_limit *limit);

/* The numbers of a limit beside those of its bucket. */
void parts_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		   struct rl_parts *out);

/* Refuses those that the instance does not support. */
void parts_check(struct build *b, const struct rule *rule);

/* Once all rules are emitted: which element of rl_shares each limit has, and which bins. */
void parts_number(struct build *b);
