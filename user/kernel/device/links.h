/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for changes of the devices of this namespace. Silent; errors are negative errnos. */
#pragma once

/* A descriptor that becomes readable when a device comes, changes or goes. */
int links_watch_open(void);

/* Reads all that is there. Some may be lost where changes come faster than they are read: list the
 * devices after this. */
void links_watch_drain(int fd);
