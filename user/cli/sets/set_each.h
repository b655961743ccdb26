/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs of sets that act on every instance they may mean. */
#pragma once

#include "cli/cmd.h"

/* Calls `run` for each instance of the target, or for all if it names none; goes on after an error.
 * 0, or the error; reports, also that there is no instance. */
int set_each(const struct command *command, int (*run)(const struct command *one, void *arg),
	     void *arg);

/* ---- cmd_set_save.c */

/* Saves the dynamic sets of one instance to the file that the units read, unless they are as they
 * were when that was written. 0 or -1; reports. */
int set_save_changed(const struct target *target);

/* ---- cmd_set_load.c */

/* After a policy came into force: loads the files of its sets that are not loaded yet. A file that
 * cannot be loaded is a warning, for the other rules are in force. */
void sets_load_new(const struct target *target);
