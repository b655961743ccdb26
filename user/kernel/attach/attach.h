/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches an instance to any hook and detaches it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/attach/mode.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct attach_options {
	enum attach_mode mode;
	bool by_dest;
	bool fq;           /* egress: install the qdisc fq */
	uint32_t sources;  /* capacity of the state map */
	uint32_t prefixes; /* prefixes and counters that a policy may use */
	uint32_t rules;    /* of these, the most that may have limits or matches */
	uint32_t bans;     /* in force at once, at most */
	enum rl_table table;
	uint32_t log_depth; /* a power of two, 2..RL_SLIDING_LOG_MAX: largest N of a sliding-log */
	enum rl_proof proof;
	uint32_t challenge_rate; /* answers a second that the program sends at most */
	bool has_group;
	gid_t group; /* its members may read the instance */
	/* Called before the program is attached; an error undoes the attach. May be NULL. */
	int (*ready)(const struct attach_point *point, void *arg);
	void *ready_arg;
};

/* Attaches to the hook of target->device, which both must be given, with `policy` in force from the
 * first packet. `policy` may be empty, and gets its slots. ATTACH_FALLS_BACK (mode.h), or a
 * negative errno; nothing stays then. Reports. */
int instance_attach(const struct target *target, const struct attach_options *options,
		    struct policy *policy, const struct policy_context *text);

/* Detaches our program from the hook and removes its pins and maps; other programs stay. Without
 * --hook, chooses the only hook of the device with an attached instance, and also removes stale
 * pins at the other hooks. Reports. */
int instance_detach(const struct target *target);

/* The two steps of detach, with the writers' lock held: first detach the program from the device,
 * then restore the qdiscs and remove the pins. Both report. */
int instance_program_detach(const char *path, const char *device, enum rl_hook hook);
int instance_teardown(const char *path, const char *device, enum rl_hook hook);

/* ---- replaces the program of an instance by that of this build (attach --replace) */

/* Opens the instance at the hook of target->device for writing, and checks that its maps fit this
 * build. The target must name both. Reports. */
int instance_replace_open(const struct target *target, struct instance *out);

/* Sizes that --replace may raise; 0: unchanged. */
struct sizes {
	uint32_t prefixes, bans;
};

/* Replaces its program. Policy, state, counters and attach options stay; every packet meanwhile
 * runs through the old or the new program. Recomputes the CPUs' shares of rates and budgets if the
 * number of online CPUs changed. Reports. */
int instance_replace(struct instance *instance, const struct sizes *wanted);
