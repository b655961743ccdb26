// SPDX-License-Identifier: GPL-2.0-only
/* The document for Prometheus, of instances that exist in memory only: one test per row.
 * tests/net/test_metrics.sh checks documents of real instances with promtool.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/metrics/prometheus.h" /* before cmocka, which makes a macro of the name fail */

#include "policy_helpers.h"

/* ---- two instances: one with rules and a hot table, one with a name that needs escaping */

static const char rules[] = "rule any limit 1000/second burst 20\n"
			    "rule any udp limit 1mbit over count for 10m\n"
			    "rule 192.0.2.0/24 deny for 1h\n"
			    "rule any gre limit 1000/second burst 20 share\n"
			    "rule any esp limit 1mbit share\n"
			    "rule any sctp limit 1000/second burst 20 share per source\n"
			    "rule 192.0.2.0/24 tcp limit 50 connections\n";

static void scraped_fill(struct scraped *out, const char *device, const char *text)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->instance.device, sizeof(out->instance.device), "%s", device);
	out->instance.info.mtu = 1500;
	out->instance.info.sources = 4096;
	out->stats.policy = must_parse_lines(text, &on_xdp);
	out->stats.rules = calloc(out->stats.policy.count + 1, sizeof(*out->stats.rules));
	assert_non_null(out->stats.rules);
}

/* Two alarms: one in packets, which is on, and one in bits, whose name needs escaping. */
static void alarms_fill(struct alarms_now *alarms)
{
	alarms->count = 2;
	alarms->alarm[0] = (struct alarm_now){.name = "flood",
					      .on = true,
					      .changes = 3,
					      .counted = 77,
					      .rate = 1234.5,
					      .unit = RL_PACKETS};
	alarms->alarm[1] = (struct alarm_now){
		.name = "q\"\n", .counted = UINT64_MAX, .rate = 0.25, .unit = RL_BITS};
}

static void connections_fill(struct instance_stats *stats)
{
	stats->connections = (struct connections_now){calloc(stats->policy.count, sizeof(uint64_t)),
						      3, UINT64_MAX};
	assert_non_null(stats->connections.open);
	for (size_t i = 0; i < stats->policy.count; i++)
		if (rule_limits_connections(&stats->policy.rules[i]))
			stats->connections.open[i] = 12;
}

static void hot_fill(struct scraped *scraped)
{
	scraped->status.mode = RL_MODE_NATIVE;
	scraped->status.program_id = 1234567;
	scraped->status.since_ns = 1795156791000000042ull;
	scraped->status.memory_bytes = UINT64_MAX;
	scraped->status.sources_used = 17;
	scraped->stats.reasons[RL_REASON_WITHIN] = (struct rl_amount){3, 180};
	scraped->stats.reasons[RL_REASON_OVER] = (struct rl_amount){UINT64_MAX, 7};
	scraped->stats.rules[0].passed = (struct rl_amount){1, 2};
	scraped->stats.rules[0].dropped = (struct rl_amount){3, 4};
	scraped->stats.rules[1].shadow = (struct rl_amount){5, 6};
	scraped->stats.pressure[RL_PRESSURE_EVICTIONS] = 8;
	scraped->stats.hot_slots = 4096;
	scraped->stats.hot_live = 9;
	scraped->generation = 6;
	alarms_fill(&scraped->stats.alarms);
	scraped->stats.shares = calloc(scraped->stats.policy.count, sizeof(struct share_counts));
	assert_non_null(scraped->stats.shares);
	for (size_t i = 0; i < scraped->stats.policy.count; i++) {
		const struct rule *rule = &scraped->stats.policy.rules[i];

		scraped->stats.shares[i] = (struct share_counts){
			.has_classes = has_classes(rule),
			.is_short = true,
			.keys = has_share(rule) && !has_classes(rule),
			.key_pace = 970,
			.arrived = {[RL_SHARE_KNOWN] = 40, [RL_SHARE_UNASKED] = UINT64_MAX},
			.passed = {[RL_SHARE_KNOWN] = 39}};
	}
}

static char *document_of(const struct scrape *scrape)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	scrape_print(file, scrape);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static char *document;

static int document_make(void **state)
{
	static struct scraped items[2];
	const struct scrape scrape = {
		.items = items, .count = ARRAY_SIZE(items), .errors = 1, .duration_ns = 1000000003};

	(void)state;
	scraped_fill(&items[0], "eth0", rules);
	hot_fill(&items[0]);
	scraped_fill(&items[1], "q\"\\\n\xc3", "rule any allow\n");
	connections_fill(&items[0].stats);
	items[1].instance.info.table = RL_TABLE_LRU;
	items[1].status.mode = RL_MODE_TC;
	document = document_of(&scrape);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		instance_stats_clear(&items[i].stats);
	return 0;
}

static int document_free(void **state)
{
	(void)state;
	free(document);
	return 0;
}

#define ETH0   "{device=\"eth0\",hook=\"xdp\""
#define ODD    "{device=\"q\\\"\\\\\\\\x0a\\\\xc3\",hook=\"xdp\""
#define ALARM  "q\\\"\\\\x0a"
#define LIMIT  "any limit 1000/second burst 20"
#define SHARED ETH0 ",rule=\"any gre limit 1000/second burst 20 share\""
#define COUNT  "any udp limit 1mbit burst 100kbit over count"

static const struct line_row {
	const char *name, *line;
	int times;
} lines[] = {
	{"info: hot, native",
	 "rlctl_instance_info" ETH0 ",mode=\"native\",table=\"hot\",program_id=\"1234567\"} 1", 1},
	{"info: lru, tc at xdp",
	 "rlctl_instance_info" ODD ",mode=\"tc\",table=\"lru\",program_id=\"0\"} 1", 1},
	{"time of attach, exact", "rlctl_attached_timestamp_seconds" ETH0 "} 1795156791.000000042",
	 1},
	{"passed packets", "rlctl_passed_packets_total" ETH0 ",reason=\"within\"} 3", 1},
	{"passed bytes", "rlctl_passed_bytes_total" ETH0 ",reason=\"within\"} 180", 1},
	{"dropped packets, 64 bits",
	 "rlctl_dropped_packets_total" ETH0 ",reason=\"over\"} 18446744073709551615", 1},
	{"dropped bytes", "rlctl_dropped_bytes_total" ETH0 ",reason=\"over\"} 7", 1},
	{"zero is there", "rlctl_dropped_packets_total" ODD ",reason=\"no-room\"} 0", 1},
	{"what passes is not dropped", "rlctl_dropped_packets_total" ETH0 ",reason=\"within\"} 3",
	 0},
	{"rule: passed packets", "rlctl_rule_passed_packets_total" ETH0 ",rule=\"" LIMIT "\"} 1",
	 1},
	{"rule: passed bytes", "rlctl_rule_passed_bytes_total" ETH0 ",rule=\"" LIMIT "\"} 2", 1},
	{"rule: dropped packets", "rlctl_rule_dropped_packets_total" ETH0 ",rule=\"" LIMIT "\"} 3",
	 1},
	{"rule: dropped bytes", "rlctl_rule_dropped_bytes_total" ETH0 ",rule=\"" LIMIT "\"} 4", 1},
	{"rule: shadow packets, without the time left",
	 "rlctl_rule_shadow_packets_total" ETH0 ",rule=\"" COUNT "\"} 5", 1},
	{"rule: shadow bytes", "rlctl_rule_shadow_bytes_total" ETH0 ",rule=\"" COUNT "\"} 6", 1},
	{"rule: deny, without the time left",
	 "rlctl_rule_dropped_packets_total" ETH0 ",rule=\"192.0.2.0/24 deny\"} 0", 1},
	{"share: arrived", "rlctl_share_arrived_packets_total" SHARED ",class=\"known\"} 40", 1},
	{"share: passed", "rlctl_share_passed_packets_total" SHARED ",class=\"known\"} 39", 1},
	{"share: zero is there",
	 "rlctl_share_passed_packets_total" SHARED ",class=\"strangers\"} 0", 1},
	{"share: unasked",
	 "rlctl_share_arrived_packets_total" SHARED ",class=\"unasked\"} 18446744073709551615", 1},
	{"share: its packets are no bytes",
	 "rlctl_share_arrived_bytes_total" SHARED ",class=\"known\"} 40", 0},
	{"share: bits are bytes",
	 "rlctl_share_arrived_bytes_total" ETH0 ",rule=\"any esp limit 1mbit burst 100kbit "
	 "share\",class=\"known\"} 40",
	 1},
	{"share: each source",
	 "rlctl_share_packets_per_second" ETH0
	 ",rule=\"any sctp limit 1000/second burst 20 share per source\"} 970",
	 1},
	{"share: each source, only of such limits", "rlctl_share_packets_per_second" SHARED "} 970",
	 0},
	{"no share, no samples",
	 "rlctl_share_arrived_packets_total" ETH0 ",rule=\"" LIMIT "\",class=\"known\"} 0", 0},
	{"connections: open under a limit on them",
	 "rlctl_rule_open_connections" ETH0 ",rule=\"192.0.2.0/24 tcp limit 50 connections\"} 12",
	 1},
	{"connections: open, only under such limits",
	 "rlctl_rule_open_connections" ETH0 ",rule=\"" LIMIT "\"} 0", 0},
	{"connections: keys", "rlctl_connection_keys" ETH0 "} 3", 1},
	{"connections: unseen", "rlctl_connections_unseen_total" ETH0 "} 18446744073709551615", 1},
	{"no limit on connections, no samples", "rlctl_connection_keys" ODD "} 0", 0},
	{"rules", "rlctl_rules" ETH0 "} 7", 1},
	{"rules: all are listed", "rlctl_rules_unlisted" ETH0 "} 0", 1},
	{"rules: none of one address", "rlctl_rules_single_address" ETH0 "} 0", 1},
	{"sources", "rlctl_sources_used" ETH0 "} 17", 1},
	{"capacity", "rlctl_sources_capacity" ETH0 "} 4096", 1},
	{"hot table: live", "rlctl_hot_slots_live" ETH0 "} 9", 1},
	{"hot table: slots", "rlctl_hot_slots" ETH0 "} 4096", 1},
	{"hot table: evictions", "rlctl_hot_evictions_total" ETH0 "} 8", 1},
	{"no hot table, no slots", "rlctl_hot_slots" ODD "} 0", 0},
	{"no hot table, no evictions", "rlctl_hot_evictions_total" ODD "} 0", 0},
	{"policy: generation", "rlctl_policy_generation" ETH0 "} 6", 1},
	{"no policy yet, no generation", "rlctl_policy_generation" ODD "} 0", 0},
	{"alarm: on", "rlctl_alarm_on" ETH0 ",alarm=\"flood\"} 1", 1},
	{"alarm: off, escaped", "rlctl_alarm_on" ETH0 ",alarm=\"" ALARM "\"} 0", 1},
	{"alarm: changes", "rlctl_alarm_changes_total" ETH0 ",alarm=\"flood\"} 3", 1},
	{"alarm: packets", "rlctl_alarm_packets_total" ETH0 ",alarm=\"flood\"} 77", 1},
	{"alarm: its packets are no bytes", "rlctl_alarm_bytes_total" ETH0 ",alarm=\"flood\"} 77",
	 0},
	{"alarm: bits are bytes",
	 "rlctl_alarm_bytes_total" ETH0 ",alarm=\"" ALARM "\"} 18446744073709551615", 1},
	{"alarm: rate of packets",
	 "rlctl_alarm_packets_per_second" ETH0 ",alarm=\"flood\"} 1234.500", 1},
	{"alarm: rate of bits, in bytes",
	 "rlctl_alarm_bytes_per_second" ETH0 ",alarm=\"" ALARM "\"} 0.250", 1},
	{"memory", "rlctl_memory_bytes" ETH0 "} 18446744073709551615", 1},
	{"errors", "rlctl_scrape_errors 1", 1},
	{"duration", "rlctl_scrape_duration_seconds 1.000000003", 1},
	{"one head for both", "# TYPE rlctl_passed_packets_total counter", 1},
	{"gauge", "# TYPE rlctl_sources_used gauge", 1},
};

/* How often the whole line stands in the text. */
static int lines_count(const char *text, const char *line)
{
	size_t len = strlen(line);
	int found = 0;

	for (; *text; text = strchr(text, '\n') + 1)
		found += !strncmp(text, line, len) && text[len] == '\n';
	return found;
}

/* A policy without an alarm has no samples of alarms. */
NAMED_TEST("no alarm, no samples", no_alarm_test)
{
	size_t found = 0;

	for (const char *at = document; (at = strstr(at, "rlctl_alarm_on{")); at++) {
		assert_memory_equal(at + strlen("rlctl_alarm_on"), ETH0, strlen(ETH0));
		found++;
	}
	assert_int_equal(found, 2);
}

ROWS(line_test, lines, row)
{
	if (lines_count(document, row->line) != row->times)
		fail_msg("wanted %d times: %s\nin:\n%s", row->times, row->line, document);
}

/* ---- no instance, too many rules */

NAMED_TEST("nothing attached", nothing_test)
{
	const struct scrape scrape = {0};
	char *text = document_of(&scrape);

	assert_int_equal(lines_count(text, "rlctl_scrape_errors 0"), 1);
	assert_null(strstr(text, "rlctl_rules"));
	free(text);
}

#define NETWORKS  (PROMETHEUS_RULES_MAX + 2)
#define SINGLE    "2001:db8::1 allow"
#define BANNING   "192.0.2.1 tcp limit 1/second burst 1 over ban 1h"
#define LINE_MAX  sizeof("rule 10.255.255.0/24 deny\n")
#define RULES_ALL (NETWORKS + 3)

static const struct many_row {
	const char *name;
	enum scrape_rules rules;
	uint32_t listed, unlisted, one_address;
	int single, banning; /* is that rule listed? */
} manys[] = {
	{"rules: bounded", SCRAPE_RULES_BOUNDED, PROMETHEUS_RULES_MAX, 3, 2, 0, 1},
	{"rules: all", SCRAPE_RULES_ALL, RULES_ALL, 0, 0, 1, 1},
	{"rules: none", SCRAPE_RULES_NONE, 0, 0, 0, 0, 0},
};

/* Denied networks, two rules of single addresses, and behind them in the policy's order a limit. */
static char *rules_many(void)
{
	char *text = malloc(NETWORKS * LINE_MAX + sizeof(rules)), *at = text;

	assert_non_null(text);
	for (uint32_t i = 0; i < NETWORKS; i++)
		at += sprintf(at, "rule 10.%u.%u.0/24 deny\n", i >> 8, i & 255);
	sprintf(at, "rule 192.0.2.1 deny\nrule " SINGLE "\nrule " BANNING "\n");
	return text;
}

static void line_check(const char *text, int times, const char *metric, const char *labels,
		       uint32_t value)
{
	char line[200];

	snprintf(line, sizeof(line), "%s" ETH0 "%s} %u", metric, labels, value);
	if (lines_count(text, line) != times)
		fail_msg("wanted %d times: %s", times, line);
}

static void many_check(const struct many_row *row, const char *text)
{
	uint32_t listed = 0;

	for (const char *at = text; (at = strstr(at, "\nrlctl_rule_passed_bytes_total{")); at++)
		listed++;
	assert_int_equal(listed, row->listed);
	line_check(text, 1, "rlctl_rules", "", RULES_ALL);
	line_check(text, 1, "rlctl_rules_unlisted", "", row->unlisted);
	line_check(text, 1, "rlctl_rules_single_address", "", row->one_address);
	line_check(text, row->single, "rlctl_rule_passed_bytes_total", ",rule=\"" SINGLE "\"", 0);
	line_check(text, row->banning, "rlctl_rule_passed_bytes_total", ",rule=\"" BANNING "\"", 0);
	line_check(text, row->banning, "rlctl_rule_bans", ",rule=\"" BANNING "\"", 7);
	line_check(text, 1, "rlctl_rule_bans", ",rule=\"everything\"", 5);
	assert_null(strstr(text, "rlctl_rule_bans" ETH0 ",rule=\"10."));
}

ROWS(many_test, manys, row)
{
	char *many = rules_many(), *text;
	struct scraped item;
	const struct scrape scrape = {.items = &item, .count = 1, .rules = row->rules};

	scraped_fill(&item, "eth0", many);
	item.bans = calloc(RULES_ALL + 1, sizeof(*item.bans));
	assert_non_null(item.bans);
	for (size_t i = 0; i < item.stats.policy.count; i++)
		if (item.stats.policy.rules[i].action == RL_ACTION_LIMIT)
			item.bans[i] = 7;
	item.bans[item.stats.policy.count] = 5;
	text = document_of(&scrape);
	many_check(row, text);
	instance_stats_clear(&item.stats);
	free(item.bans);
	free(text);
	free(many);
}

FIXTURE(document_make, document_free)
