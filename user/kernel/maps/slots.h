/* SPDX-License-Identifier: GPL-2.0-only */
/* Manages the counters and shared states of rules, which their slots index. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "compile/compile.h"
#include "kernel/instance/instance.h"

/* Creates the missing chunks that the policy needs and zeroes its new slots. Silent. */
int slots_prepare(const struct instance *instance, const struct compiled *compiled);
/* Drops the chunks that the policy in force does not need. */
void slots_trim(const struct instance *instance, const struct compiled *compiled);
