/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys of states and bans as text, and their fields in records; patterns of packets as JSON. */
#pragma once

#include "base/units.h"
#include "cli/output/output.h"
#include "kernel/state/source_search.h"
#include "policy/policy.h"
#include "watch/traffic/pattern.h"

#define KEY_TEXT_MAX (3 * PREFIX_TEXT_MAX)

/* 10.0.0.0/24, "10.0.0.1 to port 53", "10.0.0.1 to 10.0.0.2", "protocol 6, 10.0.0.1 port 5 to
 * 10.0.0.2 port 80", or "all" for a key per rule. No rule: the source is banned from everything. */
void key_print(char out[KEY_TEXT_MAX], const struct rl_state_key *key, const struct rule *rule);

/* Begins a record with the entry's key; and its last field, the rule. */
void report_source(struct report *report, const struct source_entry *entry);
void report_rule(struct report *report, const struct source_entry *entry,
		 const struct policy_context *ctx);
/* Fields of a record: remaining with unit and wait_ns, next_ns, ban_ns. */
void report_allowance(struct report *report, const struct source_entry *entry);
void report_next(struct report *report, const struct source_entry *entry);
void report_ban(struct report *report, const struct source_entry *entry);

/* Members pattern, match (the same in the words of a rule), and from, if it has a network. */
void pattern_json_put(struct json_object *object, const struct pattern *pattern);
