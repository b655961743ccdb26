/* SPDX-License-Identifier: GPL-2.0-only */
/* One snapshot of `rlctl top` as text and as JSON. */
#pragma once

#include <stdbool.h>
#include <json-c/json.h>

#include "cli/top/top.h"

/* To stdout; `headed`: below a line that names the instance. */
void snapshot_print(const struct top *top, bool headed);

/* The caller frees it. */
struct json_object *snapshot_json(const struct top *top);
