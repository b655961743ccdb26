/* SPDX-License-Identifier: GPL-2.0-only */
/* simulate --local: the capture is that of a machine with these addresses, whose sockets are
 * followed through it.
 */
#pragma once

#include "base/captured.h"
#include "cli/cmd.h"
#include "kernel/simulation.h"
#include "policy/policy.h"
#include "rlctl_abi.h"
#include "watch/local_addresses.h"
#include "watch/local_stack.h"

struct simulate_local {
	struct local_addresses addresses; /* none: without --local */
	struct local_stack *stack;        /* NULL then */
	struct rl_amount sent, elsewhere; /* packets that were not run */
	uint64_t asked[LOCAL_CERTAINTY_COUNT];
};

/* Reads the addresses of --local. 0, -1 or EXIT_USAGE; reports. */
int simulate_local_open(const struct command *command, struct simulate_local *out);
void simulate_local_close(struct simulate_local *local);

/* Runs the packet if it arrives; *ran says so, and only then *reason is set. 0 or < 0; reports. */
int simulate_local_run(struct simulate_local *local, struct simulation *simulation,
		       const struct captured *packet, bool *ran, enum rl_reason *reason);

/* Time has jumped: no conversation goes on. */
void simulate_local_restart(struct simulate_local *local);

uint64_t simulate_local_not_run(const struct simulate_local *local);
void simulate_local_json(const struct simulate_local *local, struct json_object *object);
void simulate_local_print(const struct simulate_local *local);
void simulate_local_note(const struct simulate_local *local, const struct policy *policy,
			 const char *capture);
