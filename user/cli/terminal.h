/* SPDX-License-Identifier: GPL-2.0-only */
/* An interactive terminal: questions, keys, colours. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

/* Whether the file is a terminal, and the environment has neither NO_COLOR nor TERM=dumb. */
bool colours_wanted(FILE *file);

/* The size of the terminal that stdout is. False: it is none, or its size is not known. */
bool terminal_size(unsigned int *rows, unsigned int *columns);

struct terminal {
	int fd; /* -1: not open */
	struct termios before;
};

/* Opens the controlling terminal, if stderr is a terminal and this process is in the foreground, so
 * that the user who sees a question can answer it. False: not interactive. */
bool terminal_open(struct terminal *out);
void terminal_close(struct terminal *terminal);

/* Prints "TEXT [y/N] " to stderr and waits for a line; true for y and yes. */
bool terminal_ask(struct terminal *terminal, const char *text);

/* Reads single keys without echo until terminal_close; discards keys pressed before. */
void terminal_keys(struct terminal *terminal);
