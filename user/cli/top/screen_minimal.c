// SPDX-License-Identifier: GPL-2.0-only
/* A build without ncurses prints snapshots only. */
#include "base/message.h"
#include "cli/top/top.h"

int top_show(struct top *top, bool *next)
{
	(void)top, (void)next;
	return fail("top: " MINIMAL_LACKS("ncurses") "use --once for one snapshot");
}
