/* SPDX-License-Identifier: GPL-2.0-only */
/* The index of prefixes with many rules: struct index. */
#pragma once

#include "compile/compiled.h"
#include "kernel/instance/instance.h"

/* Reads what leads to the rules of each prefix that was read: out->index. */
int index_roots_read(const struct instance *instance, struct compiled *out);

/* Writes the index for the half of the policy; none if it needs none. */
int index_write(const struct instance *instance, const struct compiled *compiled);
