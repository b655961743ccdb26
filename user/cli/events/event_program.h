/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that is run for events, and the user that it runs as: found and checked before the
 * first event, and executed without a shell and without privileges. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Where programs without a slash are searched for, and the program's own PATH. */
#define EVENT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define EVENT_USER "nobody" /* if root starts it and names nobody else */

struct json_object;

struct event_user {
	char *name, *home;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary */
	int group_count;
	bool changes; /* differs from this process: CAP_SETUID and CAP_SETGID are needed */
};

struct event_program {
	const char *given; /* as messages name it; the caller's */
	char **argv;       /* argv[0] is an absolute path; symbolic links are kept */
	struct event_user user;
};

/* Finds PROGRAM and the user, NAME or NAME:GROUP, and checks that this user may execute it. A NULL
 * user is EVENT_USER for root, and otherwise the user of this process. Its supplementary groups are
 * those of NAME, with GROUP none. 0 or -1; reports. */
int event_program_find(const char *program, char *const *arguments, int count, const char *user,
		       struct event_program *out);
void event_program_clear(struct event_program *program);

/* PATH, LANG, the user's HOME, USER and LOGNAME; RLCTL_EVENT, RLCTL_DEVICE and RLCTL_TEXT of the
 * event; and the variables of this process that begin with EVENT_, which configure programs. */
char **event_environment(const struct event_user *user, struct json_object *event);
void event_environment_free(char **environment);

/* A file in memory with the text and a newline, so that a program that does not read holds nothing
 * up. The descriptor, at its beginning, or -errno. */
int event_input(const char *json);

/* For a child process: a session of its own, the folder /, signals as by default, `input` as
 * standard input, standard error as standard output too, no other descriptor; then the program.
 * Returns -errno if that fails. */
int event_program_execute(const struct event_program *program, int input, char *const *environment);
