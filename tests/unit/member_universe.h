/* SPDX-License-Identifier: GPL-2.0-only */
/* The prefixes of both families that members are taken from in random tests, many inside one
 * another.
 */
#pragma once

#include "policy/sets/member.h"

#define UNIVERSE 4000
#define AROUND   160 /* of these, around one another */

extern struct member universe[UNIVERSE];
/* The prefixes that hold the first address of this one. */
extern uint16_t around[UNIVERSE][AROUND];
extern uint32_t around_count[UNIVERSE];

void universe_make(void);
uint32_t universe_find(const struct member *member);

/* A random number. */
uint64_t below(uint64_t bound);
