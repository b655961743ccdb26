/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens a set of an instance, by its name. */
#pragma once

#include "cli/cmd.h"
#include "kernel/sets/sets.h"

/* A set whose members are open. */
struct set_use {
	struct instance instance;
	struct set_session session;
	uint32_t set;
	struct rl_set_words words; /* what the policy in force says of it; source and timeout */
};

/* 0 or EXIT_USAGE; reports. */
int set_name_check(const char *name);

/* The instances that a command for a set acts on: those that its target selects; without a device
 * the only one, else those that have a set of that name; NULL: all. 0, < 0 or EXIT_USAGE; reports.
 */
struct set_targets {
	struct target *items;
	size_t count;
	struct places places; /* has the devices' names */
	bool many;            /* answers say of which device they are */
};
int set_targets_choose(const struct command *command, const char *name, struct set_targets *out);
void set_targets_clear(struct set_targets *targets);

/* Calls `offer` with the name of each set of the instance. Reports. */
void set_names_offer(const struct target *target, void (*offer)(void *arg, const char *name),
		     void *arg);

/* To change members, under the writers' lock until set_use_close(). 0 or < 0; reports. */
int set_use_open(const struct target *target, const char *name, bool writes, struct set_use *out);
int set_use_close(struct set_use *use);

/* The words of the policy in force on its sets, by number; zero if it has none. 0 or < 0; reports.
 */
int set_words_read(const struct instance *instance, struct rl_set_words out[RL_SETS_MAX]);

/* Calls `run` for each instance of the target, or for all if it names none; goes on after an error.
 * 0, or the error; reports, also that there is no instance. */
int set_each(const struct command *command, int (*run)(const struct command *one, void *arg),
	     void *arg);

/* ---- cmd_set_save.c */

/* Saves the dynamic sets of one instance to the file that the units read, unless they are as they
 * were when that was written. 0 or < 0; reports. */
int set_save_changed(const struct target *target);

/* ---- cmd_set_load.c */

/* After a policy came into force: loads the files of its sets that are not loaded yet. A file that
 * cannot be loaded is a warning, for the other rules are in force. */
void sets_load_new(const struct target *target);
