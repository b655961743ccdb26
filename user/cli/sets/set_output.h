/* SPDX-License-Identifier: GPL-2.0-only */
/* The answers of the verbs of `rlctl set`. */
#pragma once

#include "cli/cmd.h"
#include "cli/sets/set_open.h"

/* The outcome of a change of one instance's set. */
struct set_answer {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	struct member_result result;
	uint64_t named;   /* refused members that were reported one by one */
	bool opened;      /* device and hook are set */
	bool failed;      /* it was reported; nothing more is done there */
	bool adds, swaps; /* else it deletes */
};

/* "eth0: badguys: 3 added, 1 extended", the device only if there are several. */
void set_answer_print(const struct command *command, const char *name,
		      const struct set_answer *answer, uint64_t host_bits, bool many);

/* Whole seconds that are left, rounded up, at least 1; 0: it does not expire. */
uint64_t set_seconds_left(uint32_t expires, uint64_t now_ns);

/* All members, IPv4 first, in order of address. 0 or < 0; reports. */
int set_members_print(const struct command *command, struct set_use *use);

/* The member around an address or prefix, NULL if there is none. */
void set_test_print(const struct command *command, const struct set_use *use,
		    const struct member *asked, const struct member_entry *found, bool many);

/* A table of the sets. 0 or < 0; reports. */
int set_table_print(const struct command *command, const struct instance *instance);
