/* SPDX-License-Identifier: GPL-2.0-only */
/* The alarms of a policy as map entries. */
#pragma once

#include "compile/build.h"

/* Writes the rules by which alarms count, and their words, into b->out: the number of an alarm is
 * its place in the policy. 0, or -ENOMEM; errors are added. */
int alarms_emit(struct build *b, const struct policy *policy);

/* Notes in *out, which is compiled of `next`, from which alarms of the policy in force its own go
 * on: those of the same name that count the same and go on and off alike. */
void alarms_inherit(const struct policy *next, const struct policy *in_force, struct compiled *out);
