/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes the guide of prefixes, which packets read by bpf/algorithm/prefix_guide.h. Pure. */
#pragma once

#include "rlctl_abi.h"

/* The guide says "may" of all addresses of the prefix from now on; seed: that of the hot table. */
void prefix_guide_add(struct rl_prefix_guide *guide, const __u64 seed[2],
		      const struct rl_prefix_key *prefix);
