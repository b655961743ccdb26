/* SPDX-License-Identifier: GPL-2.0-only */
/* Everything that an attach to one device needs to know, before anything touches that device. */
#pragma once

#include "cli/cmd.h"

struct trials;

/* Why a plan fails: the policy cannot come into force. -1: any other reason. */
#define POLICY_REFUSED (-2)

#define HOOKS          (RL_HOOK_EGRESS + 1)

struct plan {
	struct target target;
	struct attach_options options;
	struct policy_context ctx;
	const struct policy_file *file; /* NULL: no policy */
	struct policy policy;
	bool wanted;
};

/* Fills those of the hooks (bits), which stay wanted, for the command's device; asks where the
 * policy may lock the user out. Clear the plans in any case. 0, -1, EXIT_USAGE or POLICY_REFUSED.
 */
int plans_make(const struct command *command, const struct attach_options *options,
	       unsigned int hooks, const struct policy_file *file, struct plan out[HOOKS]);
void plans_clear(struct plan plans[HOOKS]);

/* Attaches on trial. */
void plans_try(struct plan plans[HOOKS], struct trials *trials);

/* Notes the warnings of the policy once, also for several hooks. */
void plans_warn(const struct plan plans[HOOKS]);

/* Attaches all of them or none. 0 or POLICY_REFUSED. */
int plans_attach(struct plan plans[HOOKS]);
/* Detaches what plans_attach() has attached, of the hooks before `end`. */
void plans_detach(const struct plan plans[HOOKS], int end);
