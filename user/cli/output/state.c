// SPDX-License-Identifier: GPL-2.0-only
/* Keys of states and bans as text, and their fields in records; patterns of packets as JSON. */
#include "cli/output/state_output.h"

#include <stdio.h>

#include "algorithm/key_parts.h"
#include "base/text.h"
#include "base/units.h"

/* An address and a port, if they are parts of the key, after a word. */
static size_t side_print(char *out, size_t used, const char *word, const char *addr, int port)
{
	if (!addr && port < 0)
		return used;
	used += snprintf(out + used, KEY_TEXT_MAX - used, "%s%s", word, addr ? addr : "");
	if (port >= 0)
		used += snprintf(out + used, KEY_TEXT_MAX - used, "%sport %d", addr ? " " : "",
				 port);
	return used;
}

/* A number in front of the addresses, where it is a part of the key. */
static size_t front_print(char *out, size_t used, const char *word, uint8_t part, uint8_t parts,
			  uint32_t number)
{
	if (!(parts & part))
		return used;
	return used + snprintf(out + used, KEY_TEXT_MAX - used, "%s %u%s", word, number,
			       parts & (part - 1) ? ", " : "");
}

/* For example "VLAN 7, protocol 17, 192.0.2.1 port 9 to 10.0.0.1 port 53", with the parts that it
 * has. */
static void parts_print(char out[KEY_TEXT_MAX], const struct rl_state_key *key,
			const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit);
	const uint8_t *dest = parts_have_both(parts) ? key->peer : key->addr;
	bool both = parts_have_both(parts);
	char from[PREFIX_TEXT_MAX], to[PREFIX_TEXT_MAX];
	size_t used = 0;

	prefix_print(from, sizeof(from), key->addr,
		     key_bits(key->addr, limit->key_len4, limit->key_len6));
	prefix_print(to, sizeof(to), dest,
		     key_bits(dest, both ? key_dest_len4(limit) : limit->key_len4,
			      both ? key_dest_len6(limit) : limit->key_len6));
	used = front_print(out, used, "VLAN", RL_PART_VLAN, parts, key->vlan);
	used = front_print(out, used, "protocol", RL_PART_PROTO, parts, key->proto);
	used = side_print(out, used, parts & RL_PART_SOURCE ? "" : "from ",
			  parts & RL_PART_SOURCE ? from : NULL,
			  parts & RL_PART_SPORT ? key->sport : -1);
	side_print(out, used, parts & (RL_PART_SOURCE | RL_PART_SPORT) ? " to " : "to ",
		   parts & RL_PART_DEST ? to : NULL, parts & RL_PART_DPORT ? key->dport : -1);
}

void key_print(char out[KEY_TEXT_MAX], const struct rl_state_key *key, const struct rule *rule)
{
	static const struct rl_limit source = {
		.key = RL_KEY_SOURCE, .key_len4 = 32, .key_len6 = 64};
	const struct rl_limit *limit = rule ? &rule->limit : &source;
	char addr[PREFIX_TEXT_MAX];

	if (limit->key == RL_KEY_RULE) {
		snprintf(out, KEY_TEXT_MAX, "all");
	} else if (parts_are_account(limit)) {
		snprintf(out, KEY_TEXT_MAX, "account %u", limit->account);
	} else if (parts_are_member(limit)) {
		prefix_print(addr, sizeof(addr), key->addr, key->sport);
		snprintf(out, KEY_TEXT_MAX, "%s", addr);
	} else if (limit->key == RL_KEY_DEST) {
		prefix_print(addr, sizeof(addr), key->addr,
			     key_bits(key->addr, limit->key_len4, limit->key_len6));
		snprintf(out, KEY_TEXT_MAX, "%s", addr);
	} else {
		parts_print(out, key, limit);
	}
}

void report_source(struct report *report, const struct source_entry *entry)
{
	char key[KEY_TEXT_MAX];

	key_print(key, &entry->key, entry->rule);
	report_begin(report, NULL);
	report_text(report, "key", "key", key);
}

void report_rule(struct report *report, const struct source_entry *entry,
		 const struct policy_context *ctx)
{
	char rule[RULE_TEXT_MAX] = "everything";

	if (entry->rule)
		rule_format(rule, entry->rule, ctx);
	report_text(report, "rule", "rule", rule);
}

void report_allowance(struct report *report, const struct source_entry *entry)
{
	enum rl_unit unit = entry->rule ? entry->rule->limit.unit : RL_BYTES;
	char text[NUMBER_TEXT_MAX];

	if (!entry->has_state) {
		report_none(report, "remaining");
		return;
	}
	unit = unit == RL_BITS ? RL_BYTES : unit;
	amount_print(text, sizeof(text), entry->allowance.remaining, unit);
	report_text(report, NULL, "remaining", text);
	report_value(report, "remaining", json_object_new_uint64(entry->allowance.remaining));
	report_value(report, "unit", json_object_new_string(units_name(unit)));
	report_value(report, "wait_ns", json_object_new_uint64(entry->allowance.wait_ns));
}

void report_next(struct report *report, const struct source_entry *entry)
{
	char text[NUMBER_TEXT_MAX];

	if (entry->rule && rule_limits_connections(entry->rule) && !entry->allowance.remaining) {
		report_none(report, "next in"); /* when one is closed */
		return;
	}
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

void pattern_json_put(struct json_object *object, const struct pattern *pattern)
{
	char text[PATTERN_TEXT_MAX], network[PREFIX_TEXT_MAX];

	pattern_print(text, pattern, false);
	json_put_text(object, "pattern", text);
	pattern_print(text, pattern, true);
	json_put_text(object, "match", text);
	if (!pattern->network)
		return;
	pattern_network_print(network, sizeof(network), pattern->network);
	json_put_text(object, "from", network);
}
