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

static void number_sample(struct page *page, const struct scraped *scraped)
{
	sample_begin(page, scraped);
	sample_end(page, number_at(scraped, page->metric->field));
}

static void hot_sample(struct page *page, const struct scraped *scraped)
{
	if (scraped->stats.hot_slots)
		number_sample(page, scraped);
}

static void capacity_sample(struct page *page, const struct scraped *scraped)
{
	sample_begin(page, scraped);
	sample_end(page, scraped->instance.info.sources);
}

static void bans_capacity_sample(struct page *page, const struct scraped *scraped)
{
	sample_begin(page, scraped);
	sample_end(page, scraped->instance.info.bans);
}

static void since_sample(struct page *page, const struct scraped *scraped)
{
	sample_begin(page, scraped);
	sample_end_seconds(page, scraped->status.since_ns);
}

static void info_sample(struct page *page, const struct scraped *scraped)
{
	char id[NUMBER_TEXT_MAX];

	snprintf(id, sizeof(id), "%" PRIu32, scraped->status.program_id);
	sample_begin(page, scraped);
	sample_label(page, "mode", mode_name(scraped->status.mode));
	sample_label(page, "table", table_name(scraped->instance.info.table));
	sample_label(page, "program_id", id);
	sample_end(page, 1);
}

static void reason_samples(struct page *page, const struct scraped *scraped, bool passes)
{
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		if (reason_rows[i].passes != passes)
			continue;
		sample_begin(page, scraped);
		sample_label(page, "reason", reason_rows[i].text);
		sample_end(page, number_at(&scraped->stats.reasons[i], page->metric->field));
	}
}

static void passed_samples(struct page *page, const struct scraped *scraped)
{
	reason_samples(page, scraped, true);
}

static void dropped_samples(struct page *page, const struct scraped *scraped)
{
	reason_samples(page, scraped, false);
}

/* None: no policy was written yet, or it cannot be read just now. */
static void generation_sample(struct page *page, const struct scraped *scraped)
{
	if (scraped->generation)
		number_sample(page, scraped);
}

static void rules_sample(struct page *page, const struct scraped *scraped)
{
	sample_begin(page, scraped);
	sample_end(page, scraped->stats.policy.count);
}

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

static void unlisted_sample(struct page *page, const struct scraped *scraped)
{
	size_t count = 0, max = listed_max(page);

	policy_for_each (&scraped->stats.policy, rule)
		count += may_be_listed(page, rule);
	sample_begin(page, scraped);
	sample_end(page, count > max ? count - max : 0);
}

static void one_address_sample(struct page *page, const struct scraped *scraped)
{
	size_t count = 0;

	policy_for_each (&scraped->stats.policy, rule)
		count += page->rules == SCRAPE_RULES_BOUNDED && is_of_one_address(rule);
	sample_begin(page, scraped);
	sample_end(page, count);
}

/* The label leaves out the remaining lifetime, which changes with every scrape. */
static void rule_label(struct page *page, const struct scraped *scraped, size_t i)
{
	struct policy_context ctx;
	char words[RULE_TEXT_MAX];

	instance_context(&scraped->instance, &ctx);
	rule_format_lasting(words, &scraped->stats.policy.rules[i], &ctx);
	sample_begin(page, scraped);
	sample_label(page, "rule", words);
}

static void counter_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	rule_label(page, scraped, i);
	sample_end(page, number_at(&scraped->stats.rules[i], page->metric->field));
}

static void ban_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct rule *rule = &scraped->stats.policy.rules[i];

	if (rule->limit.over != RL_OVER_BAN || rule->action != RL_ACTION_LIMIT)
		return;
	rule_label(page, scraped, i);
	sample_end(page, scraped->bans ? scraped->bans[i] : 0);
}

/* Limits, or all other rules: at most `left`. Returns the rest of `left`. */
static size_t rule_samples_of(struct page *page, const struct scraped *scraped, bool limits,
			      size_t left,
			      void (*print)(struct page *, const struct scraped *, size_t))
{
	const struct policy *policy = &scraped->stats.policy;

	for (size_t i = 0; left && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if ((rule->action == RL_ACTION_LIMIT) != limits || !may_be_listed(page, rule))
			continue;
		print(page, scraped, i);
		left--;
	}
	return left;
}

static void rule_samples(struct page *page, const struct scraped *scraped)
{
	size_t left = rule_samples_of(page, scraped, true, listed_max(page), counter_sample);

	rule_samples_of(page, scraped, false, left, counter_sample);
}

static void ban_samples(struct page *page, const struct scraped *scraped)
{
	rule_samples_of(page, scraped, true, listed_max(page), ban_sample);
	sample_begin(page, scraped);
	sample_label(page, "rule", "everything");
	sample_end(page, scraped->bans ? scraped->bans[scraped->stats.policy.count] : 0);
}

static void connections_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct connections_now *now = &scraped->stats.connections;

	if (!now->open || !rule_limits_connections(&scraped->stats.policy.rules[i]))
		return;
	rule_label(page, scraped, i);
	sample_end(page, now->open[i]);
}

static void connections_samples(struct page *page, const struct scraped *scraped)
{
	rule_samples_of(page, scraped, true, listed_max(page), connections_sample);
}

static void connections_all_sample(struct page *page, const struct scraped *scraped)
{
	if (scraped->stats.connections.open)
		number_sample(page, scraped);
}

/* Arrivals and what passed, not what was dropped: a packet between the two would count as that, and
 * then no more. */
static void share_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;
	const size_t step = sizeof(counts->arrived[0]);

	for (int of = 0; counts && counts[i].has_classes && of < RL_SHARE_COUNTS; of++) {
		rule_label(page, scraped, i);
		sample_label(page, "class", share_class_names[of]);
		sample_end(page, number_at(&counts[i], page->metric->field + of * step));
	}
}

static void share_packets_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (scraped->stats.policy.rules[i].limit.unit == RL_PACKETS)
		share_sample(page, scraped, i);
}

static void share_bytes_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (scraped->stats.policy.rules[i].limit.unit != RL_PACKETS)
		share_sample(page, scraped, i);
}

static void share_packets_samples(struct page *page, const struct scraped *scraped)
{
	rule_samples_of(page, scraped, true, listed_max(page), share_packets_sample);
}

static void share_bytes_samples(struct page *page, const struct scraped *scraped)
{
	rule_samples_of(page, scraped, true, listed_max(page), share_bytes_sample);
}

/* For keys that share a limit of the metric's unit, while it is short. */
static void pace_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;
	bool packets = scraped->stats.policy.rules[i].limit.unit == RL_PACKETS;

	if (!counts || !counts[i].keys || !counts[i].is_short ||
	    packets != (page->metric->field == RL_PACKETS))
		return;
	rule_label(page, scraped, i);
	sample_end(page, counts[i].key_pace);
}

static void pace_samples(struct page *page, const struct scraped *scraped)
{
	rule_samples_of(page, scraped, true, listed_max(page), pace_sample);
}

/* ---- the table ---- */

#define COUNTER(name, field, print, help)           \
	{                                           \
		name, "counter", help, print, field \
	}
#define GAUGE(name, field, print, help)                                     \
	{                                                                   \
		name, "gauge", help, print, offsetof(struct scraped, field) \
	}
#define REASONS(verdict, unit, what)                                                    \
	COUNTER("rlctl_" #verdict "_" #unit "_total", offsetof(struct rl_amount, unit), \
		verdict##_samples, what ", by reason.")
#define RULES(verdict, unit, what)                         \
	COUNTER("rlctl_rule_" #verdict "_" #unit "_total", \
		offsetof(struct rule_counters, verdict.unit), rule_samples, what ", by rule.")
#define SHARES(verdict, unit, what)                                             \
	COUNTER("rlctl_share_" #verdict "_" #unit "_total",                     \
		offsetof(struct share_counts, verdict), share_##unit##_samples, \
		what " a limit in " #unit " that classes of senders share, by class.")
#define SETS(name, field, what) \
	COUNTER("rlctl_set_" name "_total", offsetof(struct set_stats, field), set_samples, what)
#define PRESSURE(name, text)                                                              \
	COUNTER("rlctl_hot_" text "_total",                                               \
		offsetof(struct scraped, stats.pressure[RL_PRESSURE_##name]), hot_sample, \
		"Pressure on the hot table: " text "; see rlctl(8)."),

static const struct metric metrics[] = {
	{"rlctl_instance_info", "gauge", "How an instance is attached; always 1.", info_sample, 0},
	{"rlctl_attached_timestamp_seconds", "gauge", "Time of attachment, in seconds since 1970.",
	 since_sample, 0},
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
	 "Rate that each source or destination has of a limit in packets that is short.",
	 pace_samples, RL_PACKETS},
	{"rlctl_share_bytes_per_second", "gauge",
	 "Rate that each source or destination has of a limit in bytes that is short.",
	 pace_samples, RL_BYTES},
	{"rlctl_rule_open_connections", "gauge", "Connections that are open under a limit on them.",
	 connections_samples, 0},
	GAUGE("rlctl_connection_keys", stats.connections.keys, connections_all_sample,
	      "Keys with open connections, of all limits on them."),
	COUNTER("rlctl_connections_unseen_total",
		offsetof(struct scraped, stats.connections.unseen), connections_all_sample,
		"Connections that no limit counts because there was no room for their key."),
	GAUGE("rlctl_policy_generation", generation, generation_sample,
	      "The policy applied last: a later one has a larger number."),
	{"rlctl_rules", "gauge", "Rules in force.", rules_sample, 0},
	{"rlctl_rules_single_address", "gauge",
	 "Rules in force without metrics because they allow or deny a single address.",
	 one_address_sample, 0},
	{"rlctl_rules_unlisted", "gauge", "Rules in force that are too many to have metrics.",
	 unlisted_sample, 0},
	GAUGE("rlctl_sources_used", status.sources_used, number_sample,
	      "States in use, one per key and limit."),
	{"rlctl_sources_capacity", "gauge", "States that can be kept.", capacity_sample, 0},
	GAUGE("rlctl_hot_slots_live", stats.hot_live, hot_sample,
	      "Slots of the hot table with debt."),
	GAUGE("rlctl_hot_slots", stats.hot_slots, hot_sample, "Slots of the hot table."),
	RL_HOT_PRESSURES(PRESSURE) /* with a comma after each */
	COUNTER("rlctl_bans_refused_total",
		offsetof(struct scraped, stats.pressure[RL_PRESSURE_BANS_REFUSED]), number_sample,
		"Bans not started because there was no room."),
	GAUGE("rlctl_bans_used", status.bans_used, number_sample,
	      "Bans that take up room: those in force, and some that are over."),
	{"rlctl_rule_bans", "gauge",
	 "Keys that a rule bans now; everything: sources banned by `over ban ... source`.",
	 ban_samples, 0},
	{"rlctl_bans_capacity", "gauge", "Bans that can be in force at once.", bans_capacity_sample,
	 0},
	{"rlctl_set_members", "gauge", "Members of a set.", set_member_samples, 0},
	{"rlctl_set_capacity", "gauge", "Members that a set may have.", set_capacity_samples, 0},
	SETS("matched_packets", matched.packets, "Packets from or to members of a set."),
	SETS("matched_bytes", matched.bytes, "Bytes from or to members of a set."),
	SETS("added", set.added, "Members added to a set."),
	SETS("extended", set.extended, "Members whose time in a set was extended."),
	SETS("deleted", set.deleted, "Members deleted from a set."),
	SETS("expired", set.expired, "Members that have expired and were removed from a set."),
	SETS("refused", set.refused, "Members not added because a set was full."),
	{"rlctl_set_loaded_timestamp_seconds", "gauge",
	 "When the file of a set was loaded last, in seconds since 1970.", set_time_samples,
	 offsetof(struct set_stats, set.loaded_ns)},
	{"rlctl_set_load_failed_timestamp_seconds", "gauge",
	 "When the file of a set failed to load, since it was loaded last.", set_time_samples,
	 offsetof(struct set_stats, set.failed_ns)},
	{"rlctl_alarm_on", "gauge", "Whether an alarm is on (1) or off (0).", alarm_on_samples, 0},
	{"rlctl_alarm_changes_total", "counter", "Times that an alarm went on or off.",
	 alarm_change_samples, 0},
	{"rlctl_alarm_packets_total", "counter", "Packets that an alarm in packets counted.",
	 alarm_counted_samples, RL_PACKETS},
	{"rlctl_alarm_bytes_total", "counter", "Bytes that an alarm in bytes or bits counted.",
	 alarm_counted_samples, RL_BYTES},
	{"rlctl_alarm_packets_per_second", "gauge",
	 "Rate that an alarm in packets saw last, over a tenth of its time.", alarm_rate_samples,
	 RL_PACKETS},
	{"rlctl_alarm_bytes_per_second", "gauge",
	 "Rate that an alarm in bytes or bits saw last, over a tenth of its time.",
	 alarm_rate_samples, RL_BYTES},
	GAUGE("rlctl_memory_bytes", status.memory_bytes, number_sample,
	      "Memory of all maps as accounted by the kernel."),
};

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
			metrics[m].print(&page, &scrape->items[i]);
	}
	head_print(file, "rlctl_scrape_errors", "Instances that could not be read.");
	fprintf(file, " %zu\n", scrape->errors);
	head_print(file, "rlctl_scrape_duration_seconds", "Time taken to read all instances.");
	putc(' ', file);
	seconds_print(file, scrape->duration_ns);
}
