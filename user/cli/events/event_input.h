/* SPDX-License-Identifier: GPL-2.0-only */
/* The form in which a program gets an event: its standard input and its environment. */
#pragma once

#include <stdint.h>

struct event_user;
struct json_object;

/* The text of a member, "" without one; valid as long as `event`, which may be NULL. */
const char *event_member(struct json_object *event, const char *name);
/* Its time in nanoseconds since 1970; 0 without one. */
uint64_t event_time_of(struct json_object *event, const char *name);

/* PATH, LANG, the user's HOME, USER and LOGNAME; RLCTL_EVENT, RLCTL_DEVICE and RLCTL_TEXT of the
 * event; and the variables of this process that begin with EVENT_, which configure programs. */
char **event_environment(const struct event_user *user, struct json_object *event);
void event_environment_free(char **environment);

/* A file in memory with the text and a newline, so that a program that does not read holds nothing
 * up. The descriptor, at its beginning, or -errno. */
int event_input(const char *json);
