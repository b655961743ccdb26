/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a command, as a descriptor. */
#ifndef RLCTL_SIGNALS_H
#define RLCTL_SIGNALS_H

/* A descriptor that becomes readable on SIGINT, SIGTERM, SIGHUP and SIGQUIT, which are blocked;
 * not on a SIGHUP that the process ignores (nohup). -1 and errno. */
int signals_open(void);

#endif
