/* SPDX-License-Identifier: GPL-2.0-only */
/* The index of prefixes with many rules: rl_index_entry. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct index {
	struct rl_index_entry *entries;
	size_t count, capacity;
};

/* Rules that packets of one protocol and port may match, more than RL_RUN_MAX. */
struct crowd {
	struct match packet; /* its protocol and port */
	size_t count;
	const struct rule *last; /* in the order in which they stand */
};

/* Appends the root, tables, intervals and runs of a prefix whose rules are element `first` of the
 * rules array and those after it. 0, -ENOMEM, -ENOSPC: the index would have more than RL_INDEX_MAX
 * entries, or -E2BIG with *crowd filled. */
int index_append(struct index *index, const struct rule *const *rules, size_t count, uint32_t first,
		 struct crowd *crowd);

void index_clear(struct index *index);
