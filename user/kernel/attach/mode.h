/* SPDX-License-Identifier: GPL-2.0-only */
/* Chooses the attach mode for a device and checks a policy against it. */
#pragma once

#include <stdbool.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct device_facts;

/* ATTACH_AUTO tries native mode first. ATTACH_TC is not a value of --mode: the tc hooks always use
 * it, and auto may fall back to it. */
enum attach_mode { ATTACH_AUTO, ATTACH_NATIVE, ATTACH_GENERIC, ATTACH_TC };

/* Resolves --mode for the link type of the device: *mode becomes ATTACH_TC at the tc hooks, and at
 * xdp if auto finds no Ethernet header. Prints a note in that case; reports. */
int attach_mode_choose(const struct target *target, enum attach_mode *mode);

/* Returned by attach if ATTACH_AUTO finds that native mode is not possible, after a note. Attach
 * again with ATTACH_TC and a policy parsed for it; nothing stays. */
#define ATTACH_FALLS_BACK 1

/* The context for parsing a policy for this device, before or after attach. Reports. */
int device_context(const struct target *target, bool by_dest, struct policy_context *out);

/* As device_link_facts; reports. */
int device_link_ask(const char *device, struct device_facts *out);
