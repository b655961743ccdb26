/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RLCTL_PACKET_LINE_H
#define RLCTL_PACKET_LINE_H

#include <stdbool.h>

struct command;

/* The words of a packet as a rule without an action; whether its length is among them, or stands
 * at their end without its number. The caller frees it. */
char *packet_line(const struct command *command, bool *has_length, bool *wants_number);

#endif
