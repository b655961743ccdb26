/* SPDX-License-Identifier: GPL-2.0-only */
/* Which refusals the data path remembers. */
#pragma once

#include "compile/build.h"

/* Marks the rules whose refusals it remembers, and says in the header for which packets. */
void refusals_choose(struct build *b);
