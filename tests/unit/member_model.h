/* SPDX-License-Identifier: GPL-2.0-only */
/* Random changes of a table of members, to it and to a plain model, and packets that ask it before,
 * in and after each page that is written. They find all that stays and nothing that never was.
 */
#pragma once

#include "member_store.h"
#include "member_universe.h"

#define SETS 4

struct state {
	bool held[SETS][UNIVERSE];
	uint32_t expires[SETS][UNIVERSE];
};

extern struct memory_store store;
extern struct rl_member_layout layout;
extern struct rl_set sets[RL_SETS_MAX];
extern struct member_table table;
extern struct state before, after; /* the change that is made at present */
extern bool at_once;               /* it happens in one moment */
extern uint64_t answers, retries;  /* of packets */

/* Setup and teardown: an empty table, in no session. */
int model_begin(void **state);
int model_end(void **state);

bool holds(const struct state *state, uint32_t set, uint32_t i);
uint32_t held_count(const struct state *state, uint32_t set);

/* Makes a change, and checks what it says of itself unless it fails. */
int random_change(void);

/* All packets that are on their way come to their end. */
void readers_end(void);

/* Is the table as it is before the next change? */
void table_check(void);

/* A change has been made in part: takes over what is there now, which is no third thing. */
void model_settle(void);
