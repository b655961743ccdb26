/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks through the maps that hold states and bans by their keys; the hot table holds none. */
#pragma once

#include <stddef.h>

#include "kernel/state/source_search.h"

/* The values of one key, `parts` of them. 0 to continue. */
typedef int walk_fn(struct search *s, const struct rl_state_key *key, const void *values,
		    size_t value_size, int parts);

/* search_state() for each state in a hash map. */
int states_walk(struct search *s);
/* search_state() for each state of a rule. */
int shared_walk(struct search *s);
/* Each ban, also those that are over; its value is a struct rl_ban. */
int bans_walk(struct search *s, walk_fn *found);
