/* SPDX-License-Identifier: GPL-2.0-only */
/* The Lua scripts that Redis runs. */
#pragma once

/* Described in *.lua. */
enum fleet_script { SCRIPT_HEARTBEAT, SCRIPT_RATE, SCRIPT_WINDOW, SCRIPT_COUNT };
extern const char *const fleet_scripts[SCRIPT_COUNT];
