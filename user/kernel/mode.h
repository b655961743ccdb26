/* SPDX-License-Identifier: GPL-2.0-only */
/* The mode of attaching. */
#ifndef RLCTL_MODE_H
#define RLCTL_MODE_H

#include <stdbool.h>

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

struct device_facts;

/* ATTACH_AUTO tries native mode. ATTACH_TC is no word of --mode: it is what the hooks of tc have,
 * and what auto comes to. */
enum attach_mode { ATTACH_AUTO, ATTACH_NATIVE, ATTACH_GENERIC, ATTACH_TC };

/* What --mode comes to on this device, as far as its kind of link tells: *mode becomes ATTACH_TC at
 * the hooks of tc, and at xdp where auto finds no Ethernet. Reports that, and what is not possible.
 */
int attach_mode_choose(const struct target *target, enum attach_mode *mode);

/* Attaches to the hook of target->device, both of which are named, with a policy that is in force
 * from the first packet (`policy` may be empty; it gets its slots here). ATTACH_FALLS_BACK where
 * ATTACH_AUTO finds native mode not possible, which is said: call again, with ATTACH_TC and a
 * policy that was parsed for it. Nothing is left behind on failure. */
#define ATTACH_FALLS_BACK 1

/* What a policy for this device has to be parsed with, before or after attach. */
int device_context(const struct target *target, bool by_dest, struct policy_context *out);

struct device_facts;
/* As device_link_facts; reports. */
int device_link_ask(const char *device, struct device_facts *out);

/* The mode that is tried for it. */
enum rl_mode attach_mode_program(enum attach_mode mode);

/* Where the policy marks packets, which only tc's program can: reports. */
int marks_check(const char *device, const struct rl_instance *info, const struct policy *policy);

#endif
