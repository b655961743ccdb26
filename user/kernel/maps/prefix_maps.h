/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps beside the trie of prefixes, which have, as it has, one inner map for each half of the
 * rules. */
#pragma once

#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* ---- the guide of prefixes */

/* That of a whole policy, for its half; none where the policy has no prefix. 0 or a negative errno.
 */
int prefix_guide_write(const struct instance *instance, const struct compiled *compiled);

/* One prefix more, in the half that packets read: call it before the trie has the prefix. -EAGAIN:
 * there is no guide, the whole policy is to be written. */
int prefix_guide_extend(const struct instance *instance, uint32_t half,
			const struct rl_prefix_key *prefix);

/* ---- the index of prefixes with many rules, struct index */

/* Reads what leads to the rules of each prefix that was read: out->index. */
int index_roots_read(const struct instance *instance, struct compiled *out);

/* Writes the index for the half of the policy; none if it needs none. */
int index_write(const struct instance *instance, const struct compiled *compiled);
