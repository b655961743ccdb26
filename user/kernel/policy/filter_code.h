/* SPDX-License-Identifier: GPL-2.0-only */
/* From classic BPF to the instructions of one function, filters_run() of bpf/match/filter.h, which
 * returns the filters that hold for a packet. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#include "policy/filter.h"
#include "rlctl_abi.h"

/* How the function reads bytes after those of its view. */
enum filter_loads { FILTER_LOADS_XDP, FILTER_LOADS_SKB, FILTER_LOADS_SKB_NETWORK };

/* One filter for each bit; count 0: none. The number of instructions in `out`; -E2BIG where they
 * are more than RL_FILTER_STEPS; -EINVAL for one that filter_compile() does not make; -ENOMEM. */
int filter_code_make(const struct filter_program filters[RL_FILTERS_MAX], enum filter_loads loads,
		     struct bpf_insn out[RL_FILTER_STEPS]);
