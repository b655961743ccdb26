// SPDX-License-Identifier: GPL-2.0-only
/* The scripts that a fleet runs in Redis, *.lua in this directory. Each is atomic and uses Redis'
 * clock. Shares are in millionths of a limit.
 */
#include "fleet/link.h"

/* clang-format off */
const char *const fleet_scripts[SCRIPT_COUNT] = {
	[SCRIPT_HEARTBEAT] =
#include "heartbeat.lua.h"
	, [SCRIPT_RATE] =
#include "rate.lua.h"
	, [SCRIPT_WINDOW] =
#include "window.lua.h"
};
