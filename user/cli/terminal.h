/* SPDX-License-Identifier: GPL-2.0-only */
/* The terminal that a person sits at: questions, keys, colours. */
#ifndef RLCTL_TERMINAL_H
#define RLCTL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

/* A terminal, and the environment has neither NO_COLOR nor TERM=dumb. */
bool colours_wanted(FILE *file);

struct terminal {
	int fd; /* -1: there is nobody */
	struct termios before;
};

/* The controlling terminal where stderr is one and this process is in its foreground, so that who
 * reads a question can answer it. False: nobody is there. */
bool terminal_open(struct terminal *out);
void terminal_close(struct terminal *terminal);

/* Puts "TEXT [y/N] " on stderr and waits for a line: true for y and yes. */
bool terminal_ask(struct terminal *terminal, const char *text);

/* Keys come one by one and unseen until terminal_close; those pressed before are forgotten. */
void terminal_keys(struct terminal *terminal);

/* A descriptor that SIGINT, SIGTERM, SIGHUP and SIGQUIT make readable, which then do nothing else;
 * -1 and errno. */
int signals_open(void);

#endif
