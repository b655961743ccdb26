/* SPDX-License-Identifier: GPL-2.0-only */
/* Attach and detach, whatever the hook. */
#ifndef RLCTL_ATTACH_H
#define RLCTL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "instance.h"
#include "mode.h"
#include "policy.h"
#include "rlctl_abi.h"

struct attach_options {
	enum attach_mode mode;
	bool by_dest;
	bool fq;           /* egress: put the qdisc fq there */
	uint32_t sources;  /* capacity of the state map */
	uint32_t prefixes; /* prefixes and counters that a policy may use */
	uint32_t rules;    /* of these, how many may have limits or matches */
	uint32_t bans;     /* that may be in force at once */
	enum rl_table table;
	uint32_t log_depth; /* a power of two, 2..RL_SLIDING_LOG_MAX: the N of a sliding-log */
	bool has_group;
	gid_t group; /* whose members may read the instance */
	/* Called before the program is put on the device; an error takes all back. May be NULL. */
	int (*ready)(const struct place *place, void *arg);
	void *ready_arg;
};

int instance_attach(const struct target *target, const struct attach_options *options,
		    struct policy *policy, const struct policy_context *text);

/* Removes our program from the hook, or where none is named from the only one that has one on the
 * device, and pins and maps with it; other programs stay. Where none is named, also what is left of
 * others. */
int instance_detach(const struct target *target);

/* Detach in two steps, with the writers' lock held: takes the program off the device, then what it
 * needed there and the pins. Report. */
int place_program_detach(const char *path, const char *device, enum rl_hook hook);
int place_vacate(const char *path, const char *device, enum rl_hook hook);

#endif
