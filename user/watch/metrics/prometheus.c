// SPDX-License-Identifier: GPL-2.0-only
/* One table of all metrics, with names and units by Prometheus' conventions. The samples of a
 * metric must be adjacent, so all instances are read before the first line is written.
 */

#include "watch/metrics/prometheus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/source.h"
#include "kernel/state/stats.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/metrics/metric.h"

/* ---- reading ---- */

static int bans_count(const struct instance *instance, struct scraped *out)
{
	const struct policy *policy = &out->stats.policy;
	struct source_entry *entries = NULL;
	size_t count = 0;
	int ret;

	out->bans = calloc(policy->count + 1, sizeof(*out->bans));
	ret = out->bans ? instance_bans_read(instance, policy, &entries, &count) : -ENOMEM;
	if (ret)
		fail("%s: reading the bans failed: %s", instance->device, strerror(-ret));
	for (size_t i = 0; i < count; i++)
		out->bans[entries[i].rule ? (size_t)(entries[i].rule - policy->rules)
					  : policy->count]++;
	free(entries);
	return ret;
}

static void scraped_clear(struct scraped *scraped)
{
	instance_stats_clear(&scraped->stats);
	free(scraped->bans);
}

static int visit(struct instance *instance, void *arg)
{
	struct scrape *scrape = arg;
	struct scraped now = {.instance = *instance}, *items;
	struct rl_policy_header header;
	int ret = instance_status_read(instance, &now.status);

	if (!ret)
		ret = instance_stats_read(instance, &now.stats);
	if (!ret)
		ret = bans_count(instance, &now);
	if (!ret && !policy_header_read(instance, &header))
		now.generation = header.written;
	if (ret) {
		scraped_clear(&now);
		scrape->errors += ret != -ENOENT && ret != -ESTALE; /* these: detached meanwhile */
		return 0;
	}
	items = reallocarray(scrape->items, scrape->count + 1, sizeof(now));
	if (!items) {
		scraped_clear(&now);
		fail("out of memory");
		return -ENOMEM;
	}
	scrape->items = items;
	scrape->items[scrape->count++] = now;
	return 0;
}

int scrape_read(const struct target *target, enum scrape_rules rules, struct scrape *out)
{
	struct scrape scrape = {.rules = rules};
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int ret = instance_for_each(target, visit, &scrape);

	scrape.duration_ns = clock_ns(CLOCK_MONOTONIC) - start;
	if (ret && ret != -ENOMEM && scrape.count) { /* one could not be opened; reported */
		scrape.errors++;
		ret = 0;
	}
	if (ret)
		scrape_clear(&scrape);
	else
		*out = scrape;
	return ret;
}

void scrape_clear(struct scrape *scrape)
{
	for (size_t i = 0; i < scrape->count; i++)
		scraped_clear(&scrape->items[i]);
	free(scrape->items);
	memset(scrape, 0, sizeof(*scrape));
}

/* ---- printers of the table's rows ---- */

static void number_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	(void)i;
	sample_begin(page, scraped, NULL, NULL);
	sample_end_field(page, scraped);
}

static void hot_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (scraped->stats.hot_slots)
		number_sample(page, scraped, i);
}

/* None: no policy was written yet, or it cannot be read just now. */
static void generation_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (scraped->generation)
		number_sample(page, scraped, i);
}

static void connections_all_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (scraped->stats.connections.open)
		number_sample(page, scraped, i);
}

static void since_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	(void)i;
	sample_begin(page, scraped, NULL, NULL);
	sample_end_seconds(page, scraped->status.since_ns);
}

static void info_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	char id[NUMBER_TEXT_MAX];

	(void)i;
	snprintf(id, sizeof(id), "%" PRIu32, scraped->status.program_id);
	sample_begin(page, scraped, "mode", mode_name(scraped->status.mode));
	sample_label(page, "table", table_name(scraped->instance.info.table));
	sample_label(page, "program_id", id);
	sample_end(page, 1);
}

static void reason_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_begin(page, scraped, "reason", reason_rows[i].text);
	sample_end_field(page, &scraped->stats.reasons[i]);
}

static void passed_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (reason_rows[i].passes)
		reason_sample(page, scraped, i);
}

static void dropped_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (!reason_rows[i].passes)
		reason_sample(page, scraped, i);
}

/* ---- of rules */

/* A list of bans may have thousands of such rules, and they come and go. */
static bool is_of_one_address(const struct rule *rule)
{
	return rule->action != RL_ACTION_LIMIT && rule->len == 128;
}

static bool may_be_listed(const struct page *page, const struct rule *rule)
{
	return page->rules == SCRAPE_RULES_ALL ||
	       (page->rules == SCRAPE_RULES_BOUNDED && !is_of_one_address(rule));
}

static size_t listed_max(const struct page *page)
{
	return page->rules == SCRAPE_RULES_ALL ? SIZE_MAX : PROMETHEUS_RULES_MAX;
}

static void unlisted_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	size_t count = 0, max = listed_max(page);

	(void)i;
	policy_for_each (&scraped->stats.policy, rule)
		count += may_be_listed(page, rule);
	sample_begin(page, scraped, NULL, NULL);
	sample_end(page, count > max ? count - max : 0);
}

static void one_address_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	size_t count = 0;

	(void)i;
	policy_for_each (&scraped->stats.policy, rule)
		count += page->rules == SCRAPE_RULES_BOUNDED && is_of_one_address(rule);
	sample_begin(page, scraped, NULL, NULL);
	sample_end(page, count);
}

/* The label leaves out the remaining lifetime, which changes with every scrape. */
static void rule_begin(struct page *page, const struct scraped *scraped, size_t i)
{
	struct policy_context ctx;
	char words[RULE_TEXT_MAX];

	instance_context(&scraped->instance, &ctx);
	rule_format_lasting(words, &scraped->stats.policy.rules[i], &ctx);
	sample_begin(page, scraped, "rule", words);
}

static void rule_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	rule_begin(page, scraped, i);
	sample_end_field(page, &scraped->stats.rules[i]);
}

static void ban_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct policy *policy = &scraped->stats.policy;

	if (i == policy->count)
		sample_begin(page, scraped, "rule", "everything");
	else if (policy->rules[i].limit.over == RL_OVER_BAN)
		rule_begin(page, scraped, i);
	else
		return;
	sample_end(page, scraped->bans ? scraped->bans[i] : 0);
}

static void connections_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct connections_now *now = &scraped->stats.connections;

	if (!now->open || !rule_limits_connections(&scraped->stats.policy.rules[i]))
		return;
	rule_begin(page, scraped, i);
	sample_end(page, now->open[i]);
}

static bool is_in_packets(const struct scraped *scraped, size_t i)
{
	return scraped->stats.policy.rules[i].limit.unit == RL_PACKETS;
}

/* Arrivals and what passed, not what was dropped: a packet between the two would count as that, and
 * then no more. */
static void share_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;

	for (int of = 0; counts && counts[i].has_classes && of < RL_SHARE_COUNTS; of++) {
		rule_begin(page, scraped, i);
		sample_label(page, "class", share_class_names[of]);
		sample_end_field(page, (const char *)&counts[i] + of * sizeof(uint64_t));
	}
}

static void share_packets_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (is_in_packets(scraped, i))
		share_sample(page, scraped, i);
}

static void share_bytes_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (!is_in_packets(scraped, i))
		share_sample(page, scraped, i);
}

/* For keys that share a limit of the metric's unit, while it is short. */
static void pace_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;

	if (!counts || !counts[i].keys || !counts[i].is_short ||
	    is_in_packets(scraped, i) != (page->metric->field == RL_PACKETS))
		return;
	rule_begin(page, scraped, i);
	sample_end(page, counts[i].key_pace);
}

/* ---- the table ---- */

#define FIELD(type, name) offsetof(struct type, name), sizeof(((struct type *)0)->name)
#define REASONS(verdict, unit, what)                                                              \
	{                                                                                         \
		"rlctl_" #verdict "_" #unit "_total", "counter", what ", by reason.", OF_REASONS, \
			verdict##_sample, FIELD(rl_amount, unit)                                  \
	}
#define RULES(verdict, unit, what)                                                                 \
	{                                                                                          \
		"rlctl_rule_" #verdict "_" #unit "_total", "counter", what ", by rule.", OF_RULES, \
			rule_sample, FIELD(rule_counters, verdict.unit)                            \
	}
#define SHARES(verdict, unit, what)                                                               \
	{                                                                                         \
		"rlctl_share_" #verdict "_" #unit "_total", "counter",                            \
			what " a limit in " #unit " that classes of senders share, by class.",    \
			OF_LIMITS, share_##unit##_sample, offsetof(struct share_counts, verdict), \
			sizeof(uint64_t)                                                          \
	}
#define SETS(name, field, what)                                                   \
	{                                                                         \
		"rlctl_set_" name "_total", "counter", what, OF_SETS, set_sample, \
			FIELD(set_stats, field)                                   \
	}
#define PRESSURE(name, text)                                   \
	{"rlctl_hot_" text "_total",                           \
	 "counter",                                            \
	 "Pressure on the hot table: " text "; see rlctl(8).", \
	 OF_INSTANCE,                                          \
	 hot_sample,                                           \
	 FIELD(scraped, stats.pressure[RL_PRESSURE_##name])},

static const struct metric metrics[] = {
	{"rlctl_instance_info", "gauge", "How an instance is attached; always 1.", OF_INSTANCE,
	 info_sample, 0, 0},
	{"rlctl_attached_timestamp_seconds", "gauge", "Time of attachment, in seconds since 1970.",
	 OF_INSTANCE, since_sample, 0, 0},
	REASONS(passed, packets, "Packets let through"),
	REASONS(passed, bytes, "Bytes let through"),
	REASONS(dropped, packets, "Packets dropped"),
	REASONS(dropped, bytes, "Bytes dropped"),
	RULES(passed, packets, "Packets let through"),
	RULES(passed, bytes, "Bytes let through"),
	RULES(dropped, packets, "Packets dropped"),
	RULES(dropped, bytes, "Bytes dropped"),
	RULES(shadow, packets, "Packets over a limit that passed: `over count`, or established"),
	RULES(shadow, bytes, "Bytes over a limit that passed: `over count`, or established"),
	SHARES(arrived, packets, "Packets that came to"),
	SHARES(passed, packets, "Packets within"),
	SHARES(arrived, bytes, "Bytes that came to"),
	SHARES(passed, bytes, "Bytes within"),
	{"rlctl_share_packets_per_second", "gauge",
	 "Rate that each source or destination has of a limit in packets that is short.", OF_LIMITS,
	 pace_sample, RL_PACKETS, 0},
	{"rlctl_share_bytes_per_second", "gauge",
	 "Rate that each source or destination has of a limit in bytes that is short.", OF_LIMITS,
	 pace_sample, RL_BYTES, 0},
	{"rlctl_rule_open_connections", "gauge", "Connections that are open under a limit on them.",
	 OF_LIMITS, connections_sample, 0, 0},
	{"rlctl_connection_keys", "gauge", "Keys with open connections, of all limits on them.",
	 OF_INSTANCE, connections_all_sample, FIELD(scraped, stats.connections.keys)},
	{"rlctl_connections_unseen_total", "counter",
	 "Connections that no limit counts because there was no room for their key.", OF_INSTANCE,
	 connections_all_sample, FIELD(scraped, stats.connections.unseen)},
	{"rlctl_policy_generation", "gauge",
	 "The policy applied last: a later one has a larger number.", OF_INSTANCE,
	 generation_sample, FIELD(scraped, generation)},
	{"rlctl_rules", "gauge", "Rules in force.", OF_INSTANCE, number_sample,
	 FIELD(scraped, stats.policy.count)},
	{"rlctl_rules_single_address", "gauge",
	 "Rules in force without metrics because they allow or deny a single address.", OF_INSTANCE,
	 one_address_sample, 0, 0},
	{"rlctl_rules_unlisted", "gauge", "Rules in force that are too many to have metrics.",
	 OF_INSTANCE, unlisted_sample, 0, 0},
	{"rlctl_sources_used", "gauge", "States in use, one per key and limit.", OF_INSTANCE,
	 number_sample, FIELD(scraped, status.sources_used)},
	{"rlctl_sources_capacity", "gauge", "States that can be kept.", OF_INSTANCE, number_sample,
	 FIELD(scraped, instance.info.sources)},
	{"rlctl_hot_slots_live", "gauge", "Slots of the hot table with debt.", OF_INSTANCE,
	 hot_sample, FIELD(scraped, stats.hot_live)},
	{"rlctl_hot_slots", "gauge", "Slots of the hot table.", OF_INSTANCE, hot_sample,
	 FIELD(scraped, stats.hot_slots)},
	RL_HOT_PRESSURES(PRESSURE) /* with a comma after each */
	{"rlctl_bans_refused_total", "counter", "Bans not started because there was no room.",
	 OF_INSTANCE, number_sample, FIELD(scraped, stats.pressure[RL_PRESSURE_BANS_REFUSED])},
	{"rlctl_bans_used", "gauge",
	 "Bans that take up room: those in force, and some that are over.", OF_INSTANCE,
	 number_sample, FIELD(scraped, status.bans_used)},
	{"rlctl_rule_bans", "gauge",
	 "Keys that a rule bans now; everything: sources banned by `over ban ... source`.", OF_BANS,
	 ban_sample, 0, 0},
	{"rlctl_bans_capacity", "gauge", "Bans that can be in force at once.", OF_INSTANCE,
	 number_sample, FIELD(scraped, instance.info.bans)},
	{"rlctl_set_members", "gauge", "Members of a set.", OF_SETS, set_members_sample, 0, 0},
	{"rlctl_set_capacity", "gauge", "Members that a set may have.", OF_SETS,
	 set_capacity_sample, 0, 0},
	SETS("matched_packets", matched.packets, "Packets from or to members of a set."),
	SETS("matched_bytes", matched.bytes, "Bytes from or to members of a set."),
	SETS("added", set.added, "Members added to a set."),
	SETS("extended", set.extended, "Members whose time in a set was extended."),
	SETS("deleted", set.deleted, "Members deleted from a set."),
	SETS("expired", set.expired, "Members that have expired and were removed from a set."),
	SETS("refused", set.refused, "Members not added because a set was full."),
	{"rlctl_set_loaded_timestamp_seconds", "gauge",
	 "When the file of a set was loaded last, in seconds since 1970.", OF_SETS, set_time_sample,
	 offsetof(struct set_stats, set.loaded_ns), 0},
	{"rlctl_set_load_failed_timestamp_seconds", "gauge",
	 "When the file of a set failed to load, since it was loaded last.", OF_SETS,
	 set_time_sample, offsetof(struct set_stats, set.failed_ns), 0},
	{"rlctl_alarm_on", "gauge", "Whether an alarm is on (1) or off (0).", OF_ALARMS,
	 alarm_on_sample, 0, 0},
	{"rlctl_alarm_changes_total", "counter", "Times that an alarm went on or off.", OF_ALARMS,
	 alarm_changes_sample, 0, 0},
	{"rlctl_alarm_packets_total", "counter", "Packets that an alarm in packets counted.",
	 OF_ALARMS, alarm_counted_sample, RL_PACKETS, 0},
	{"rlctl_alarm_bytes_total", "counter", "Bytes that an alarm in bytes or bits counted.",
	 OF_ALARMS, alarm_counted_sample, RL_BYTES, 0},
	{"rlctl_alarm_packets_per_second", "gauge",
	 "Rate that an alarm in packets saw last, over a tenth of its time.", OF_ALARMS,
	 alarm_rate_sample, RL_PACKETS, 0},
	{"rlctl_alarm_bytes_per_second", "gauge",
	 "Rate that an alarm in bytes or bits saw last, over a tenth of its time.", OF_ALARMS,
	 alarm_rate_sample, RL_BYTES, 0},
	{"rlctl_memory_bytes", "gauge", "Memory of all maps as accounted by the kernel.",
	 OF_INSTANCE, number_sample, FIELD(scraped, status.memory_bytes)},
};

/* Limits, or all other rules: at most `left`. Returns the rest of `left`. */
static size_t rules_print(struct page *page, const struct scraped *scraped, bool limits,
			  size_t left)
{
	const struct policy *policy = &scraped->stats.policy;

	for (size_t i = 0; left && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if ((rule->action == RL_ACTION_LIMIT) != limits || !may_be_listed(page, rule))
			continue;
		page->metric->print(page, scraped, i);
		left--;
	}
	return left;
}

static void metric_print(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;
	const size_t counts[] = {
		[OF_INSTANCE] = 1,
		[OF_REASONS] = RL_REASON_COUNT,
		[OF_SETS] = stats->policy.set_count,
		[OF_ALARMS] = stats->alarms.count,
	};
	enum metric_of of = page->metric->of;
	size_t left;

	if (of < sizeof(counts) / sizeof(counts[0])) {
		for (size_t i = 0; i < counts[of]; i++)
			page->metric->print(page, scraped, i);
		return;
	}
	left = rules_print(page, scraped, true, listed_max(page));
	if (of == OF_RULES)
		rules_print(page, scraped, false, left);
	if (of == OF_BANS)
		page->metric->print(page, scraped, stats->policy.count);
}

static void head_print(FILE *file, const char *name, const char *help)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n%s", name, help, name, name);
}

void scrape_print(FILE *file, const struct scrape *scrape)
{
	head_print(file, "rlctl_build_info", "The rlctl that wrote this; always 1.");
	putc('{', file);
	label_print(file, "version", RLCTL_VERSION);
	fputs("} 1\n", file);
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		struct page page = {.file = file, .metric = &metrics[m], .rules = scrape->rules};

		for (size_t i = 0; i < scrape->count; i++)
			metric_print(&page, &scrape->items[i]);
	}
	head_print(file, "rlctl_scrape_errors", "Instances that could not be read.");
	fprintf(file, " %zu\n", scrape->errors);
	head_print(file, "rlctl_scrape_duration_seconds", "Time taken to read all instances.");
	putc(' ', file);
	seconds_print(file, scrape->duration_ns);
}
