/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules array, which grows with the policy. It is a plain map of the program, so that a larger
 * one brings another program (kernel/attach/program_fit.c). It is opened (policy_maps.h) to read or
 * write rules, after what leads to them was read. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"

/* Elements of one half of it. 0 or a negative errno. */
int rules_room(const struct instance *instance, uint32_t *out);

/* Puts one with so many, and the same rules, in its place. */
int rules_grow(const struct instance *instance, uint32_t room);
