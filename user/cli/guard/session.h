/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance that a verb has opened, with rules read from it. */
#pragma once

#include "cli/cmd.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* An open instance, rules read from it, and the context for parsing and printing rules. */
struct session {
	struct instance instance;
	struct policy policy;
	struct policy_context ctx;
};

/* 0 or a negative errno; reports. With `write`, locks the instance until session_close. Reads no
 * rule. */
int session_open(const struct command *command, bool write, struct session *out);
/* The same for reading, with the whole policy. */
int session_read(const struct command *command, struct session *out);
void session_close(struct session *session);

/* Appends without sorting. Exits if out of memory. */
void rules_append(struct policy *list, const struct rule *rule);
