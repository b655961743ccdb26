/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of packets as JSON. */
#pragma once

#include <json-c/json.h>

#include "watch/traffic/pattern.h"

/* Members pattern, match (the same in the words of a rule), and from, if it has a network. */
void pattern_json_put(struct json_object *object, const struct pattern *pattern);
