/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds addresses to a set and deletes them, of one instance or several. */
#pragma once

#include "cli/guard/guard.h"
#include "cli/sets/set_input.h"
#include "cli/sets/set_output.h"

enum set_verb { SET_ADD, SET_DEL, SET_SWAP, SET_FLUSH };

/* A change in the making. */
struct set_change {
	const struct command *command;
	const char *name;
	enum set_verb verb;
	struct set_items items; /* that are to be applied next */
	uint64_t host_bits;     /* of all that were read */
	struct set_targets targets;
	struct set_answer *answers; /* one for each target */
	struct guard guard;
};

/* Chooses the instances, and looks that each has the set. 0, < 0 or EXIT_USAGE; reports. */
int set_change_begin(struct set_change *change, const struct command *command, enum set_verb verb);

/* Applies the items to each instance where nothing has failed, and forgets them. 0, or < 0 if it
 * has failed anywhere; reports. */
int set_change_apply(struct set_change *change);

/* Has it failed on all of them? */
bool set_change_is_over(const struct set_change *change);

/* Prints the answers. 0, or < 0 if something was refused or has failed. */
int set_change_end(struct set_change *change);

/* ---- set_stream.c: `-` of add and del */

/* Applies what arrives on standard input at once, up to its end or a signal. 0 or < 0; reports. */
int set_stream_run(struct set_change *change, uint64_t life_ns);
