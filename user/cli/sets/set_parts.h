/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the verbs that change the members of a set and show them. */
#pragma once

#include "cli/guard/guard.h"
#include "cli/sets/set_open.h"
#include "compile/member_table.h"
#include "policy/sets/member_list.h"

/* ---- set_input.c: addresses for a set, of a command line */

/* Addresses that were read, each with its life: 0 if none was given. */
struct set_items {
	struct member_entry *entries;
	uint64_t *lives;
	size_t count, capacity;
};

/* Exits if out of memory. */
void set_items_add(struct set_items *items, const struct member *member, uint64_t life_ns);
void set_items_clear(struct set_items *items);

/* `for DURATION` at the end of a command's words, which are then fewer; 0 if there is none. 0 or
 * EXIT_USAGE; reports. */
int set_life_words(const char *verb, char *const *words, int *count, uint64_t *out_ns);

/* One address of a command line. 0 or EXIT_USAGE; reports. */
int set_word_parse(const char *word, struct member *out, bool *host_bits);

/* ---- set_input.c: lines of a file or of a stream */

#define SET_NAMED_MAX 20   /* bad lines and refused addresses that messages name */
#define SET_LINE_MAX  4096 /* bytes */

/* A file or a stream of lines `ADDRESS[/LEN] [for DURATION]`. Blank lines and what follows a # are
 * skipped; lines that are wrong are reported, the first SET_NAMED_MAX of them each, and skipped. */
struct set_lines {
	const char *name; /* as messages show it */
	int fd;
	uint64_t life_ns; /* of lines without one; 0: that of the set */
	uint64_t line;    /* lines that were read */
	uint64_t bad, host_bits;
	bool ended;
	bool overlong; /* the line at hand is longer than SET_LINE_MAX, and reported */
	char *buffer;
	size_t used;
};

/* "-" is standard input. 0 or -1; reports. */
int set_lines_open(struct set_lines *lines, const char *path);
/* Reads once what is there, and appends the addresses of whole lines. 0 or -1; reports. */
int set_lines_read(struct set_lines *lines, struct set_items *items);
/* Reports how many lines were wrong beyond those that were named. */
void set_lines_close(struct set_lines *lines);

/* ---- set_output.c: the answers */

/* The outcome of a change of one instance's set. */
struct set_answer {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	struct member_result result;
	uint64_t named; /* refused members that were reported one by one */
	bool opened;    /* device and hook are set */
	bool failed;    /* it was reported; nothing more is done there */
};

struct set_change;
/* "eth0: badguys: 3 added, 1 extended", the device only if there are several. */
void set_answer_print(const struct command *command, const struct set_change *change,
		      const struct set_answer *answer);

/* Whole seconds that are left, rounded up, at least 1; 0: it does not expire. */
uint64_t set_seconds_left(uint32_t expires, uint64_t now_ns);

/* All members, IPv4 first, in order of address. 0 or < 0; reports. */
int set_members_print(const struct command *command, struct set_use *use);

/* The member around an address or prefix, NULL if there is none. */
void set_test_print(const struct command *command, const struct set_use *use,
		    const struct member *asked, const struct member_entry *found, bool many);

/* A table of the sets. 0 or < 0; reports. */
int set_table_print(const struct command *command, const struct instance *instance);

/* ---- set_change.c: adds addresses to a set and deletes them, of one instance or several */

enum set_verb { SET_ADD, SET_DEL, SET_SWAP, SET_FLUSH };

static inline bool set_verb_adds(enum set_verb verb)
{
	return verb == SET_ADD || verb == SET_SWAP;
}

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

/* ---- set_guard.c: the guard against lockout by the members of a set */

/* set_change_apply(), but asks before if it would cut off the SSH session of this process on one of
 * the targets. If the answer is no, the change has failed on all of them. */
int set_guarded_apply(struct set_change *change);

/* For sets_load(): `guard` of struct set_load. */
int set_load_guard(const struct target *target, const struct rl_set_words *words,
		   struct member_list *list, char *why, size_t size);
