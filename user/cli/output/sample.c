// SPDX-License-Identifier: GPL-2.0-only
/* A sampled packet and a changed alarm as text and as JSON: one call per field serves both. */

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/stats_output.h"
#include "cli/output/line.h"
#include "cli/output/output.h"
#include "cli/output/sample_output.h"
#include "kernel/attach/hook_names.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"
#include "watch/traffic/rule_book.h"

#define MAC_TEXT_MAX 18

/* The order in which parts go where a line is too long for the terminal: line.h. */
enum {
	STAYS = LINE_STAYS,
	MICROSECONDS,
	VERDICT,
	BYTES,
	SOURCE_PORT,
	MEMBER,
	DESTINATION,
	RULE,
	TIME
};

/* A line of text, or with -j an object. */
struct record {
	struct json_object *object;
	struct screen_line line;
};

static void record_end(struct record *record)
{
	if (record->object)
		json_print(record->object);
	else
		line_print(&record->line);
}

/* Adds the value to the object, or the text to the line. Without a key, it is of the line alone. */
__attribute__((format(printf, 5, 6))) static void put(struct record *record, unsigned int rank,
						      const char *key, struct json_object *value,
						      const char *format, ...)
{
	va_list args;

	if (record->object && key) {
		json_put(record->object, key, value);
		return;
	}
	json_object_put(value);
	va_start(args, format);
	line_add_va(&record->line, rank, format, args);
	va_end(args);
}

static struct json_object *text(const char *words)
{
	return json_object_new_string(words);
}

/* Text in local time with microseconds, JSON in UTC with nanoseconds. */
static void put_time(struct record *record, uint64_t realtime_ns)
{
	uint32_t ns = realtime_ns % NS_PER_SECOND;
	char full[NUMBER_TEXT_MAX], clock[16];
	time_t seconds = (time_t)(realtime_ns / NS_PER_SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%T", &tm);
	time_ns_print(full, realtime_ns);
	put(record, TIME, "time", text(full), "%s", clock);
	put(record, MICROSECONDS, NULL, NULL, ".%06" PRIu32, ns / 1000);
}

/* One address, with its port if the packet has ports. */
static void put_end(struct record *record, const struct rl_sample *sample, bool is_source)
{
	const uint8_t *addr = is_source ? sample->src : sample->dst;
	bool ports = sample->has_ports, bracket = ports && !prefix_is_ipv4(addr, 128);
	uint16_t port = is_source ? sample->sport : sample->dport;
	char words[PREFIX_TEXT_MAX];

	prefix_print(words, sizeof(words), addr, 128);
	put(record, is_source || ports ? STAYS : DESTINATION, NULL, NULL, "%s",
	    is_source ? " " : " -> ");
	put(record, is_source ? STAYS : DESTINATION, is_source ? "source" : "destination",
	    text(words), "%s%s%s", bracket ? "[" : "", words, bracket ? "]" : "");
	if (ports)
		put(record, is_source ? SOURCE_PORT : STAYS, is_source ? "sport" : "dport",
		    json_object_new_int(port), ":%u", port);
}

static void put_protocol(struct record *record, const struct rl_sample *sample)
{
	static const struct {
		const char *name;
		uint8_t number;
	} names[] = {
#define PROTOCOL_NAME(name, number, ports) {name, number},
		RULE_PROTOCOLS(PROTOCOL_NAME)
#undef PROTOCOL_NAME
	};
	char words[16];

	snprintf(words, sizeof(words), "proto %u", sample->proto);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == sample->proto)
			snprintf(words, sizeof(words), "%s", names[i].name);
	put(record, STAYS, "protocol", text(words), " %-5s", words);
}

/* The Ethernet header, for a packet that is malformed or not IP. */
static void put_ethernet(struct record *record, const struct rl_sample *sample)
{
	char words[MAC_TEXT_MAX];

	if (sample->kept < 14)
		return;
	snprintf(words, sizeof(words), "0x%04x", sample->frame[12] << 8 | sample->frame[13]);
	put(record, STAYS, "ethertype", text(words), " ethertype %s", words);
	for (int i = 0; i < 2; i++) {
		const uint8_t *mac = sample->frame + (i ? 0 : 6);

		snprintf(words, sizeof(words), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
		put(record, STAYS, i ? "destination_mac" : "source_mac", text(words), "%s%s",
		    i ? " -> " : " ", words);
	}
}

void sample_print(const struct sampled *sampled, uint64_t realtime_ns, const struct rule_book *book)
{
	const struct rl_sample *sample = &sampled->packet;
	const struct reason_row *reason =
		&reason_rows[sample->reason < RL_REASON_COUNT ? sample->reason : 0];
	const char *verdict = reason->passes ? "pass" : "drop";
	const struct rule *rule = rule_counted(&book->policy, sample->counter_id);
	struct record record = {.object = output_json ? json_object_new_object() : NULL};
	char many[NUMBER_TEXT_MAX], words[RULE_TEXT_MAX];
	struct member member;

	put_time(&record, realtime_ns);
	put(&record, VERDICT, "verdict", text(verdict), " %s", verdict);
	put(&record, STAYS, "reason", text(reason->text), " %-9s", reason->text);
	if (sample_has_addresses(sample)) {
		put_protocol(&record, sample);
		put_end(&record, sample, true);
		put_end(&record, sample, false);
	} else if (!book->instance->info.raw_ip) {
		put_ethernet(&record, sample);
	}
	put(&record, BYTES, "bytes", json_object_new_uint64(sample->bytes), " %" PRIu32 " bytes",
	    sample->bytes);
	number_print(many, sampled->stands_for);
	put(&record, STAYS, "stands_for", json_object_new_uint64(sampled->stands_for),
	    ", one of %s", many);
	if (rule) {
		rule_format(words, rule, &book->ctx);
		put(&record, RULE, "rule", text(words), ", rule %s", words);
	}
	if (rule && rule_book_member(book, rule, sample, &member)) {
		member_print(words, &member);
		put(&record, MEMBER, "member", text(words), ", member %s", words);
	}
	record_end(&record);
}

void alarm_change_print(const struct alarm_now *alarm, uint64_t realtime_ns,
			const struct rule_book *book)
{
	const struct instance *instance = book->instance;
	char rate[ALARM_LINE_MAX], *shown = text_shown(alarm->name);
	struct record record = {.object = output_json ? json_object_new_object() : NULL};

	alarm_rate_print(rate, sizeof(rate), alarm);
	put_time(&record, realtime_ns);
	put(&record, STAYS, "event", text(alarm->on ? "alarm-on" : "alarm-off"), " alarm-%s",
	    alarm->on ? "on" : "off");
	if (record.object) {
		json_put(record.object, "device", text(instance->device));
		json_put(record.object, "hook", text(hook_name(instance->info.hook)));
	}
	put(&record, STAYS, "alarm", text(alarm->name), " %s", shown);
	if (!alarm->manual)
		put(&record, STAYS, "rate",
		    json_alarm_amount(alarm, (uint64_t)llround(alarm->rate)), ", %s", rate);
	record_end(&record);
	free(shown);
}
