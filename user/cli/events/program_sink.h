/* SPDX-License-Identifier: GPL-2.0-only */
/* The receiver of events that --exec names: a program that is run for each of them. */
#pragma once

#include "cli/cmd.h"
#include "cli/events/event_sink.h"

/* Reads --exec, --user, --exec-max, --exec-timeout and the words behind `--`, and checks the
 * program; raises the privileges that it needs to run as another user. Without --exec, out->tell is
 * NULL. 0, -1 or EXIT_USAGE; reports. */
int program_sink_open(const struct command *command, struct event_sink *out);

/* Programs that run may end within a few seconds. Accepts what program_sink_open() left NULL. */
void program_sink_close(const struct event_sink *sink);
