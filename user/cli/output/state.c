// SPDX-License-Identifier: GPL-2.0-only
/* Keys of states and bans as text, and their fields in records. */
#include "state_output.h"

#include <stdio.h>

#include "text.h"
#include "units.h"

void key_print(char out[KEY_TEXT_MAX], const struct rl_state_key *key, const struct rule *rule)
{
	enum rl_key_kind kind = rule ? rule->limit.key : RL_KEY_SOURCE;
	uint8_t len4 = rule ? rule->limit.key_len4 : 32, len6 = rule ? rule->limit.key_len6 : 64;
	char addr[PREFIX_TEXT_MAX], peer[PREFIX_TEXT_MAX];

	prefix_print(addr, sizeof(addr), key->addr, key_bits(key->addr, len4, len6));
	prefix_print(peer, sizeof(peer), key->peer, key_bits(key->peer, len4, len6));
	if (kind == RL_KEY_RULE)
		snprintf(out, KEY_TEXT_MAX, "all");
	else if (kind == RL_KEY_SOURCE_DPORT)
		snprintf(out, KEY_TEXT_MAX, "%s to port %u", addr, key->dport);
	else if (kind == RL_KEY_SOURCE_DEST)
		snprintf(out, KEY_TEXT_MAX, "%s to %s", addr, peer);
	else if (kind == RL_KEY_FLOW)
		snprintf(out, KEY_TEXT_MAX, "protocol %u, %s port %u to %s port %u", key->proto,
			 addr, key->sport, peer, key->dport);
	else
		snprintf(out, KEY_TEXT_MAX, "%s", addr);
}

void report_allowance(struct report *report, const struct source_entry *entry)
{
	bool packets = entry->rule && entry->rule->limit.unit == RL_PACKETS;
	char text[NUMBER_TEXT_MAX];

	if (!entry->has_state) {
		report_none(report, "remaining");
		return;
	}
	amount_print(text, sizeof(text), entry->allowance.remaining,
		     packets ? RL_PACKETS : RL_BYTES);
	report_text(report, NULL, "remaining", text);
	report_value(report, "remaining", json_object_new_uint64(entry->allowance.remaining));
	report_value(report, "unit", json_object_new_string(packets ? "packets" : "bytes"));
	report_value(report, "wait_ns", json_object_new_uint64(entry->allowance.wait_ns));
}

void report_next(struct report *report, const struct source_entry *entry)
{
	char text[NUMBER_TEXT_MAX];

	wait_print(text, entry->next_ns);
	report_text(report, NULL, "next in", entry->next_ns ? text : "now");
	report_value(report, "next_ns", json_object_new_uint64(entry->next_ns));
}

void report_ban(struct report *report, const struct source_entry *entry)
{
	char text[NUMBER_TEXT_MAX];

	if (!entry->ban_ns) {
		report_none(report, "banned for");
		return;
	}
	wait_print(text, entry->ban_ns);
	report_text(report, NULL, "banned for", text);
	report_value(report, "ban_ns", json_object_new_uint64(entry->ban_ns));
}
