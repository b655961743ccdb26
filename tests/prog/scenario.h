/* SPDX-License-Identifier: GPL-2.0-only */
/* A scenario for a harness, in one string: steps apart by '|', run in order; a row has one a line.
 *   = RULE; RULE            this policy comes into force (the words without "rule")
 *   + DURATION              time passes
 *   @ RULE +DURATION        it is that long after the rule's expiry; -DURATION: before
 *   [N *] WORDS : REASON    N frames (frame.h), each with this reason
 *   > WORDS                 this machine sends that frame; >> WORDS: forwards it
 *   ! established           the packets that follow are for a socket that is connected to their
 *                           peer; ! bound: to none; ! not established: no socket waits for them
 *   # RULE : P D S          the rule has passed, dropped, shadowed so many packets
 *   add|del|swap NAME: MEMBERS    members of a set, as harness.h has them; swap to none: a flush
 *   matched NAME: N         so many packets came from, or went to, members of the set
 */
#pragma once

#include "harness.h"

/* Fails the test, naming the step, where something else happens. Policy and time are those that the
 * scenario before left. */
void scenario_run(struct harness *h, const char *scenario);

/* No policy, and so fresh states for the next one; a new day. */
void scenario_reset(struct harness *h);

struct scenario {
	const char *name, *steps;
};

/* SCENARIOS(rows, .hook = RL_HOOK_INGRESS): a test of each row, with those options. */
#define SCENARIOS(rows, ...)          SCENARIOS_AT(__LINE__, rows, ##__VA_ARGS__)
#define SCENARIOS_AT(line, rows, ...) SCENARIOS_ADD(line, rows, ##__VA_ARGS__)
#define SCENARIOS_ADD(line, rows, ...)                                       \
	AT_START(scenarios_add_##line)                                       \
	{                                                                    \
		static const struct harness_options options = {__VA_ARGS__}; \
		scenarios_add((rows), ARRAY_SIZE(rows), &options);           \
	}

void scenarios_add(const struct scenario *rows, size_t count,
		   const struct harness_options *options);
