/* SPDX-License-Identifier: GPL-2.0-only */
/* The map of the guide of prefixes: one inner map for each half of the rules, as of the trie. */
#pragma once

#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* That of a whole policy, for its half; none where the policy has no prefix. 0 or a negative errno.
 */
int prefix_guide_write(const struct instance *instance, const struct compiled *compiled);

/* One prefix more, in the half that packets read: call it before the trie has the prefix. -EAGAIN:
 * there is no guide, the whole policy is to be written. */
int prefix_guide_extend(const struct instance *instance, uint32_t half,
			const struct rl_prefix_key *prefix);
