/* SPDX-License-Identifier: GPL-2.0-only */
/* The comments of the policy in force: a map that packets never read, which exists while a rule has
 * a comment. */
#pragma once

#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* Sets the comments of rules that were read from the kernel. 1 if one is missing: a writer has
 * removed it meanwhile. Silent. */
int comments_read(const struct instance *instance, struct policy *policy);

/* Writes the comments of rules that are about to come into force. Silent. */
int comments_write(const struct instance *instance, const struct policy *next);

/* Removes all comments but those of the policy in force. */
void comments_trim(const struct instance *instance, const struct policy *in_force);

/* Removes the comments of rules that `next` has replaced. */
void comments_remove(const struct instance *instance, const struct policy *replaced,
		     const struct policy *next);

/* Adds the bytes that the comments take. Silent. */
int comments_memory_add(const struct instance *instance, uint64_t *sum);
