/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the machine makes rules do other than they say: its network namespace and the device. One
 * text for doctor and for the verbs that bring rules into force. Changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"
#include "rlctl_abi.h"

struct surroundings {
	const char *device;
	uint64_t uses;  /* of the rules: enum rl_policy_use */
	bool conntrack; /* attached with --state conntrack */
	bool native;    /* in native mode; false where the mode is not known */
};

#define REMEDY_MAX 256

struct advice {
	const char *text;
	char remedy[REMEDY_MAX];
};

/* Each fills *out and returns true if there is something to say. */
bool forwarding_advice(const struct surroundings *around, struct advice *out);
bool tracking_advice(const struct surroundings *around, struct advice *out);
bool answers_advice(const struct surroundings *around, struct advice *out);

/* Notes all of them, as warnings, for rules on the device. info: of its instance; NULL: there is
 * none, and what depends on how it is attached is left out. */
void surroundings_note(const char *device, const struct rl_instance *info,
		       const struct policy *policy);

/* A number in that file below /proc/sys/net, of the current network namespace; negative: there is
 * no such setting. */
int net_setting(const char *name);
