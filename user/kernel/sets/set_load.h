/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads the sets of an instance that have a file or a database. The file is read before the
 * instance is locked, and packets find the former members until they find the new ones. */
#pragma once

#include "kernel/sets/sets.h"
#include "policy/sets/member_list.h"

enum set_load_when {
	SET_LOAD_NOW,     /* the user says so */
	SET_LOAD_CHANGED, /* a policy came into force: unless this file is loaded already */
	SET_LOAD_DUE,     /* `every` has passed, and the file has changed */
};

struct set_load {
	const struct target *target; /* one instance */
	enum set_load_when when;
	char *const *names; /* of sets, at most 64 */
	int name_count;     /* 0: all that have a file */
	bool warns;         /* a set that cannot be loaded is no error */
	bool accepts;       /* the user has said that the file is right, whatever is in it */
	/* Takes those members out of the list that would cut off a login, reports them, and counts
	 * them in list->guarded. < 0: the list would do so without them: why it is refused. */
	int (*guard)(const struct target *target, const struct rl_set_words *words,
		     struct member_list *list, char *why, size_t size);
	/* Called for each set that was loaded or could not be; NULL: nobody. */
	void (*tell)(const struct rl_set_words *words, const struct member_list *list,
		     const struct member_result *result, bool failed, void *arg);
	void *arg;
	uint64_t found; /* a bit for each of the names that the policy has */
};

/* 0, or -1 if a set keeps its former members although it should have been loaded; reports. */
int sets_load(struct set_load *load);

/* Prints a warning for each set whose file could not be loaded now. */
void sets_files_check(const struct policy *policy);

/* Gives the sets of a simulation the members of their files, whose times begin at the instance's
 * now; prints notes and warnings, but not `again`. 0, or < 0 after a report. */
int sets_simulate(const struct instance *instance, const struct policy *policy, bool again);

/* The words of the policy in force on its sets, by number. 0 or -errno; silent. */
int sets_words_read(const struct instance *instance, struct rl_set_words out[RL_SETS_MAX]);

/* The members as the table takes them, to be freed; NULL: there is no memory. */
struct member_entry *member_entries(const struct member_list *list, uint64_t timeout_ns,
				    uint64_t now_ns);
