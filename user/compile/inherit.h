/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules of the next policy keep state of the current one. */
#pragma once

#include "compile/build.h"

/* Sets slot, limit id and expiry of every rule. */
int rules_inherit(struct build *b, struct policy *next, const struct policy *current,
		  bool keep_expiry);

/* Sets the lane of every rule. */
void lanes_choose(struct policy *next);
