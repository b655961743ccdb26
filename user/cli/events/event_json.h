/* SPDX-License-Identifier: GPL-2.0-only */
/* An event as JSON, and JSON as the lines that people read. */
#pragma once

#include <stdio.h>

#include <json-c/json.h>

#include "watch/events/event.h"

/* Members that do not apply are left out. The caller frees it. */
struct json_object *event_json(const struct event *event);

/* Traits of sampled packets as members of an event: sources that have a hundredth of the
 * packets, and values and patterns that a tenth of them have, the heaviest first; known sources,
 * whatever they have. `rate`: of all packets, a second. The caller frees it. */
struct json_object *traits_json(const struct traits *traits, uint64_t rate);

/* A time as events have it: UTC with milliseconds. */
#define EVENT_TIME_MAX 32
void event_time_print(char out[EVENT_TIME_MAX], uint64_t realtime_ns);

/* The same as a member; null for 0. */
void event_time_put(struct json_object *object, const char *key, uint64_t realtime_ns);

/* A member of that type; NULL without one. `object` may be NULL. */
struct json_object *json_member(struct json_object *object, const char *key, json_type type);
/* The text of a member, "" without one; valid as long as `event`, which may be NULL. */
const char *event_member(struct json_object *event, const char *name);
/* Its time in nanoseconds since 1970; 0 without one. */
uint64_t event_time_of(struct json_object *event, const char *name);

/* 0 to 1, with three digits after the point. */
struct json_object *share_json(double share);

/* A line with time, device and text, and indented ones with the heaviest sources and what is common
 * to the packets. The object may come from a file: members of another type are left out, and
 * everything is escaped. */
void event_print(FILE *file, struct json_object *object);

/* The lines of the members `patterns` and `common`, if there are any. */
void event_common_print(FILE *file, struct json_object *object);

/* A text that may have come from a file, with control characters and the like as escapes, and words
 * before it; nothing if it is empty. */
void text_put(FILE *file, const char *before, const char *text);
