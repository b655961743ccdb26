// SPDX-License-Identifier: GPL-2.0-only
/* A build without libmicrohttpd serves nothing. */
#include "cli/cmd.h"

int cmd_exporter(const struct command *command)
{
	(void)command;
	return fail("exporter: " MINIMAL_LACKS(
		"libmicrohttpd") "let a timer write `rlctl stats --prometheus` into a file for "
				 "node_exporter's textfile collector");
}
