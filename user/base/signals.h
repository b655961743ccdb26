/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a command, as a descriptor or held back. */
#pragma once

#include <stdbool.h>

/* A descriptor that becomes readable on SIGINT, SIGTERM, SIGHUP and SIGQUIT, which are blocked;
 * not on a SIGHUP that the process ignores (nohup). -1 and errno. */
int signals_open(void);

/* From now on these signals wait, except those that the process ignores; has one come? */
void signals_hold(void);
bool signals_held(void);
