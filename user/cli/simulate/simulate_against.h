/* SPDX-License-Identifier: GPL-2.0-only */
/* simulate --against: what two policies do differently to the same packets, as text and as JSON. */
#pragma once

#include <stddef.h>

#include "cli/report/record.h"

struct json_object;

/* The record has two sides. 0 or -1; reports. */
int simulate_against_print(const struct record *record);
/* Puts the member "against". 0 or -1; reports. */
int simulate_against_json(const struct record *record, struct json_object *object);

/* The sources of most packets with which the policies deal differently. */
struct json_object *json_differing(const struct record *record, size_t max);

/* All differences, those of most packets first, an array of as many as HASH_COUNT says, which the
 * caller frees. Exits if out of memory. */
const struct difference **differences_sorted(const struct record *record, size_t *count);

/* The rule of the difference as words, "" where none decided. */
void difference_rule(const struct record *record, const struct difference *difference,
		     char words[RULE_TEXT_MAX]);
