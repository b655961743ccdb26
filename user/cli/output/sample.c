// SPDX-License-Identifier: GPL-2.0-only
/* A sampled packet and a changed alarm as text and as JSON: one call per field serves both. */

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/alarms_output.h"
#include "cli/output/output.h"
#include "cli/output/sample_output.h"
#include "kernel/attach/hook_names.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/alarm_text.h"
#include "watch/rule_book.h"

#define MAC_TEXT_MAX 18

/* Adds the value to the object; without an object, prints the text. */
__attribute__((format(printf, 4, 5))) static void
put(struct json_object *object, const char *key, struct json_object *value, const char *format, ...)
{
	va_list args;

	if (object) {
		json_put(object, key, value);
		return;
	}
	json_object_put(value);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static struct json_object *text(const char *words)
{
	return json_object_new_string(words);
}

/* Text in local time with microseconds, JSON in UTC with nanoseconds. */
static void put_time(struct json_object *object, uint64_t realtime_ns)
{
	uint32_t ns = realtime_ns % NS_PER_SECOND;
	char full[NUMBER_TEXT_MAX], clock[16];
	time_t seconds = (time_t)(realtime_ns / NS_PER_SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%T", &tm);
	time_ns_print(full, realtime_ns);
	put(object, "time", text(full), "%s.%06" PRIu32, clock, ns / 1000);
}

/* One address, with its port if the packet has ports. */
static void put_end(struct json_object *object, const struct rl_sample *sample, bool is_source)
{
	const uint8_t *addr = is_source ? sample->src : sample->dst;
	bool ports = sample->has_ports, bracket = ports && !prefix_is_ipv4(addr, 128);
	uint16_t port = is_source ? sample->sport : sample->dport;
	char words[PREFIX_TEXT_MAX];

	prefix_print(words, sizeof(words), addr, 128);
	put(object, is_source ? "source" : "destination", text(words), "%s%s%s%s",
	    is_source ? " " : " -> ", bracket ? "[" : "", words, bracket ? "]" : "");
	if (ports)
		put(object, is_source ? "sport" : "dport", json_object_new_int(port), ":%u", port);
}

static void put_protocol(struct json_object *object, const struct rl_sample *sample)
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
	put(object, "protocol", text(words), " %-5s", words);
}

static void mac_print(char out[MAC_TEXT_MAX], const uint8_t mac[6])
{
	snprintf(out, MAC_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
}

/* The Ethernet header, for a packet that is malformed or not IP. */
static void put_ethernet(struct json_object *object, const struct rl_sample *sample)
{
	char words[16], source[MAC_TEXT_MAX], dest[MAC_TEXT_MAX];

	if (sample->kept < 14)
		return;
	snprintf(words, sizeof(words), "0x%04x", sample->frame[12] << 8 | sample->frame[13]);
	mac_print(source, sample->frame + 6);
	mac_print(dest, sample->frame);
	put(object, "ethertype", text(words), " ethertype %s", words);
	put(object, "source_mac", text(source), " %s", source);
	put(object, "destination_mac", text(dest), " -> %s", dest);
}

static void put_rule(struct json_object *object, const struct rl_sample *sample,
		     const struct rule_book *book)
{
	const struct rule *rule = rule_book_find(book, sample->counter_id);
	char words[RULE_TEXT_MAX];
	struct member member;

	if (!rule)
		return;
	rule_format(words, rule, &book->ctx);
	put(object, "rule", text(words), ", rule %s", words);
	if (!rule_book_member(book, rule, sample, &member))
		return;
	member_print(words, &member);
	put(object, "member", text(words), ", member %s", words);
}

static void line_end(struct json_object *object)
{
	if (object)
		json_print(object);
	else
		putchar('\n');
}

void sample_print(const struct sampled *sampled, uint64_t realtime_ns, const struct rule_book *book)
{
	const struct rl_sample *sample = &sampled->packet;
	const struct reason_row *reason =
		&reason_rows[sample->reason < RL_REASON_COUNT ? sample->reason : 0];
	struct json_object *object = output_json ? json_object_new_object() : NULL;
	const char *verdict = reason->passes ? "pass" : "drop";
	char many[NUMBER_TEXT_MAX];

	put_time(object, realtime_ns);
	put(object, "verdict", text(verdict), " %s", verdict);
	put(object, "reason", text(reason->text), " %-9s", reason->text);
	if (sample_has_addresses(sample)) {
		put_protocol(object, sample);
		put_end(object, sample, true);
		put_end(object, sample, false);
	} else if (!book->instance->info.raw_ip) {
		put_ethernet(object, sample);
	}
	put(object, "bytes", json_object_new_uint64(sample->bytes), " %" PRIu32 " bytes",
	    sample->bytes);
	number_print(many, sampled->stands_for);
	put(object, "stands_for", json_object_new_uint64(sampled->stands_for), ", one of %s", many);
	put_rule(object, sample, book);
	line_end(object);
}

void alarm_change_print(const struct alarm_now *alarm, uint64_t realtime_ns,
			const struct rule_book *book)
{
	struct json_object *object = output_json ? json_object_new_object() : NULL;
	const struct instance *instance = book->instance;
	char rate[ALARM_LINE_MAX], *shown = text_shown(alarm->name);

	alarm_rate_print(rate, sizeof(rate), alarm);
	put_time(object, realtime_ns);
	put(object, "event", text(alarm->on ? "alarm-on" : "alarm-off"), " alarm-%s",
	    alarm->on ? "on" : "off");
	if (object) {
		json_put(object, "device", text(instance->device));
		json_put(object, "hook", text(hook_name(instance->info.hook)));
	}
	put(object, "alarm", text(alarm->name), " %s", shown);
	put(object, "rate", json_alarm_amount(alarm, (uint64_t)llround(alarm->rate)), ", %s", rate);
	line_end(object);
	free(shown);
}
