/* SPDX-License-Identifier: GPL-2.0-only */
/* rlctl attach to the devices that `all`, a list or a pattern selects. */
#pragma once

#include <net/if.h>

#include "cli/cmd.h"

struct trials;

/* One device, and the hooks (bits) to attach to. */
struct device_choice {
	char name[IF_NAMESIZE];
	unsigned int hooks;
	bool attached; /* by devices_attach() */
};

struct device_choices {
	struct device_choice *items;
	size_t count;
	size_t attached; /* devices that a pattern selects and that have instances at all hooks */
};

/* Does the command select several devices, and is it not the name of one? */
bool devices_are_many(const struct command *command);

/* The devices selected, without those hooks of a pattern's devices where an instance is attached.
 * A name of a list must be there, and a pattern or `all` must match a device other than lo. 0 or
 * -1; reports. */
int devices_choose(const struct command *command, unsigned int hooks, struct device_choices *out);
void devices_clear(struct device_choices *choices);

/* Attaches to all of them, several at a time, and notes how many and the memory of one. If one
 * fails: to none, or with `keep` to the others. On trial, unless `trials` is NULL. 0, -1,
 * EXIT_USAGE or POLICY_REFUSED. */
int devices_attach(const struct command *command, const struct attach_options *options,
		   struct device_choices *choices, const struct policy_file *file, bool keep,
		   struct trials *trials);

/* attach --follow: attaches to the devices that are selected, and to each that comes. */
struct follower {
	struct command command; /* but what is attached by now stays as it is */
	const struct attach_options *options;
	unsigned int hooks;
	struct known *known; /* devices that were there when they were listed last */
	size_t count;
	int sweeps; /* left, for pins of devices that are gone */
};

/* Lists the devices that are there, before the first are attached to. */
void follow_begin(struct follower *f, const struct command *command,
		  const struct attach_options *options, unsigned int hooks);

/* The devices listed are done with but for those of `choices` that were not attached to: an
 * operator may detach them. */
void follow_done(struct follower *f, const struct device_choices *choices);

/* Attaches to what comes, and reads the policy anew for each, until a signal ends it. 0 or -1. */
int follow_run(struct follower *f);
