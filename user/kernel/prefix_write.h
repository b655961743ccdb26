/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules of one prefix, read and written in place. */
#ifndef RLCTL_PREFIX_WRITE_H
#define RLCTL_PREFIX_WRITE_H

#include <stdint.h>

#include "instance.h"
#include "policy.h"

/* The rules of one prefix, which is that of the rule; none: 0, and *out stays empty, as it must be.
 * What this and the next two cost does not grow with the policy. */
int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out);

/* Puts `next`, which are rules of that prefix or none, in force in place of all rules of the
 * prefix. A packet meets the rules before or after, never a part. Where there is no room left
 * beside the policy it is written anew, as a whole. */
int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);

/* Those of all prefixes around the address (mapped), of `any` and of `device`. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out);

#endif
