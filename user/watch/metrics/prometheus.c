// SPDX-License-Identifier: GPL-2.0-only
/* One table of all metrics, with names and units by Prometheus' conventions. The samples of a
 * metric must be adjacent, so all instances are read before the first line is written.
 */

#include "watch/metrics/prometheus.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "kernel/attach/hook_names.h"
#include "policy/names.h"

/* The metric being printed. Its HELP and TYPE lines come with its first sample. */
struct page {
	FILE *file;
	const struct metric *metric;
	enum scrape_rules rules;
	bool headed;
};

/* The things that a metric has samples of. Limits come first among rules; bans are those of limits,
 * and of everything: i is then the number of rules. */
enum metric_of { OF_INSTANCE, OF_REASONS, OF_SETS, OF_ALARMS, OF_RULES, OF_LIMITS, OF_BANS };

struct metric {
	const char *name, *type, *help;
	enum metric_of of;
	enum { IN_ALL, IN_PACKETS, IN_BYTES } unit; /* only limits or alarms in it */
	/* Has the i-th of them a sample? NULL: yes. */
	bool (*has)(const struct scraped *scraped, size_t i);
	/* Its samples; NULL: one, the number. */
	void (*print)(struct page *page, const struct scraped *scraped, size_t i);
	size_t field, size; /* of a number in its object: offset and bytes */
};

/* ---- samples */

/* Two of the characters that the format escapes remain. Each name but the first has a comma. */
static void label_print(FILE *file, const char *name, const char *text)
{
	char shown[5];

	fprintf(file, "%s=\"", name);
	for (const char *c = text; *c; c++) {
		byte_escape(shown, *c);
		for (const char *s = shown; *s; s++)
			fprintf(file, *s == '\\' || *s == '"' ? "\\%c" : "%c", *s);
	}
	putc('"', file);
}

/* The label of a rule leaves out the remaining lifetime, which changes with every scrape. */
static void sample_begin(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct metric *metric = page->metric;
	const struct policy *policy = &scraped->stats.policy;
	char words[RULE_TEXT_MAX] = "everything";
	struct policy_context ctx;

	if (!page->headed)
		fprintf(page->file, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
	page->headed = true;
	fprintf(page->file, "%s{", metric->name);
	label_print(page->file, "device", scraped->instance.device);
	label_print(page->file, ",hook", hook_name(scraped->instance.info.hook));
	switch (metric->of) {
	case OF_INSTANCE:
		return;
	case OF_REASONS:
		return label_print(page->file, ",reason", reason_rows[i].text);
	case OF_SETS:
		return label_print(page->file, ",set", policy->sets[i].name);
	case OF_ALARMS:
		return label_print(page->file, ",alarm", scraped->stats.alarms.alarm[i].name);
	default:
		instance_context(&scraped->instance, &ctx);
		if (i < policy->count)
			rule_format_lasting(words, &policy->rules[i], &ctx);
		label_print(page->file, ",rule", words);
	}
}

static void sample_end(struct page *page, uint64_t number)
{
	fprintf(page->file, "} %" PRIu64 "\n", number);
}

static void seconds_print(FILE *file, uint64_t ns)
{
	fprintf(file, "%llu.%09llu\n", ns / NS_PER_SECOND, ns % NS_PER_SECOND);
}

static uint64_t number_at(const struct page *page, const void *object)
{
	const char *at = (const char *)object + page->metric->field;
	uint64_t number;
	uint32_t word;

	if (page->metric->size == sizeof(bool))
		return *(const bool *)at;
	memcpy(&word, at, sizeof(word));
	if (page->metric->size == sizeof(word))
		return word;
	memcpy(&number, at, sizeof(number));
	return number;
}

/* In the object of the i-th. */
static uint64_t number_of(const struct page *page, const struct scraped *scraped, size_t i)
{
	const struct instance_stats *stats = &scraped->stats;

	switch (page->metric->of) {
	case OF_INSTANCE:
		return number_at(page, scraped);
	case OF_REASONS:
		return number_at(page, &stats->reasons[i]);
	case OF_SETS:
		return number_at(page, &stats->sets[i]);
	case OF_ALARMS:
		return number_at(page, &stats->alarms.alarm[i]);
	case OF_RULES:
		return number_at(page, &stats->rules[i]);
	case OF_LIMITS:
		return number_at(page, &stats->shares[i]);
	case OF_BANS:
		return scraped->bans ? number_at(page, &scraped->bans[i]) : 0;
	}
	return 0;
}

/* ---- which have samples */

static bool is_of_unit(const struct page *page, const struct scraped *scraped, size_t i)
{
	const struct instance_stats *stats = &scraped->stats;
	bool packets = page->metric->unit == IN_PACKETS;

	if (page->metric->unit == IN_ALL)
		return true;
	if (page->metric->of == OF_LIMITS)
		return (stats->policy.rules[i].limit.unit == RL_PACKETS) == packets;
	return !stats->alarms.alarm[i].manual &&
	       (stats->alarms.alarm[i].unit == RL_PACKETS) == packets;
}

static bool has_hot(const struct scraped *scraped, size_t i)
{
	(void)i;
	return scraped->stats.hot_slots;
}

/* None: no policy was written yet, or it cannot be read just now. */
static bool has_generation(const struct scraped *scraped, size_t i)
{
	(void)i;
	return scraped->generation;
}

static bool has_connections(const struct scraped *scraped, size_t i)
{
	(void)i;
	return scraped->stats.connections.open;
}

static bool is_passed(const struct scraped *scraped, size_t i)
{
	(void)scraped;
	return reason_rows[i].passes;
}

static bool is_dropped(const struct scraped *scraped, size_t i)
{
	return !is_passed(scraped, i);
}

static bool has_bans(const struct scraped *scraped, size_t i)
{
	const struct policy *policy = &scraped->stats.policy;

	return i == policy->count || policy->rules[i].limit.over == RL_OVER_BAN;
}

/* For keys that share a limit, while it is short. */
static bool has_pace(const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;

	return counts && counts[i].keys && counts[i].is_short;
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

/* None of a set whose file has not been loaded, or has not failed to be. */
static void seconds_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	uint64_t ns = number_of(page, scraped, i);

	if (!ns && page->metric->of == OF_SETS)
		return;
	sample_begin(page, scraped, i);
	fputs("} ", page->file);
	seconds_print(page->file, ns);
}

static void info_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_begin(page, scraped, i);
	label_print(page->file, ",mode", mode_name(scraped->status.mode));
	label_print(page->file, ",table", table_name(scraped->instance.info.table));
	fprintf(page->file, ",program_id=\"%" PRIu32 "\"} 1\n", scraped->status.program_id);
}

static void unlisted_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	size_t count = 0, max = listed_max(page);

	policy_for_each (&scraped->stats.policy, rule)
		count += may_be_listed(page, rule);
	sample_begin(page, scraped, i);
	sample_end(page, count > max ? count - max : 0);
}

static void one_address_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	size_t count = 0;

	policy_for_each (&scraped->stats.policy, rule)
		count += page->rules == SCRAPE_RULES_BOUNDED && is_of_one_address(rule);
	sample_begin(page, scraped, i);
	sample_end(page, count);
}

static void connections_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (!rule_limits_connections(&scraped->stats.policy.rules[i]))
		return;
	sample_begin(page, scraped, i);
	sample_end(page, scraped->stats.connections.open[i]);
}

/* Arrivals and what passed, not what was dropped: a packet between the two would count as that, and
 * then no more. */
static void share_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct share_counts *counts = scraped->stats.shares;

	for (int of = 0; counts && counts[i].has_classes && of < RL_SHARE_COUNTS; of++) {
		sample_begin(page, scraped, i);
		label_print(page->file, ",class", share_class_names[of]);
		sample_end(page, number_at(page, (const char *)&counts[i] + of * sizeof(uint64_t)));
	}
}

static void set_members_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		sample_begin(page, scraped, i);
		label_print(page->file, ",family", ipv6 ? "ipv6" : "ipv4");
		sample_end(page, scraped->stats.sets[i].set.members[ipv6]);
	}
}

static void set_capacity_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_begin(page, scraped, i);
	sample_end(page, scraped->stats.policy.sets[i].max);
}

static void alarm_rate_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_begin(page, scraped, i);
	fprintf(page->file, "} %.3f\n", scraped->stats.alarms.alarm[i].rate);
}

/* ---- the table ---- */

#define FIELD(type, name) \
	.field = offsetof(struct type, name), .size = sizeof(((struct type *)0)->name)
#define REASONS(verdict, unit, what)                                                              \
	{                                                                                         \
		"rlctl_" #verdict "_" #unit "_total", "counter", what ", by reason.", OF_REASONS, \
			.has = is_##verdict, FIELD(rl_amount, unit)                               \
	}
#define RULES(verdict, unit, what)                                                                 \
	{                                                                                          \
		"rlctl_rule_" #verdict "_" #unit "_total", "counter", what ", by rule.", OF_RULES, \
			FIELD(rule_counters, verdict.unit)                                         \
	}
#define SHARES(verdict, word, unit_, what)                                                    \
	{                                                                                     \
		"rlctl_share_" #verdict "_" word "_total", "counter",                         \
			what " a limit in " word " that classes of senders share, by class.", \
			OF_LIMITS, .unit = unit_, .print = share_sample,                      \
				   .field = offsetof(struct share_counts, verdict),           \
				   .size = sizeof(uint64_t)                                   \
	}
#define SETS(name, field_, what)                                                               \
	{                                                                                      \
		"rlctl_set_" name "_total", "counter", what, OF_SETS, FIELD(set_stats, field_) \
	}
#define PRESSURE(name, text)                                   \
	{"rlctl_hot_" text "_total",                           \
	 "counter",                                            \
	 "Pressure on the hot table: " text "; see rlctl(8).", \
	 OF_INSTANCE,                                          \
	 .has = has_hot,                                       \
	 FIELD(scraped, stats.pressure[RL_PRESSURE_##name])},

static const struct metric metrics[] = {
	{"rlctl_instance_info", "gauge", "How an instance is attached; always 1.", OF_INSTANCE,
	 .print = info_sample},
	{"rlctl_attached_timestamp_seconds", "gauge", "Time of attachment, in seconds since 1970.",
	 OF_INSTANCE, .print = seconds_sample, FIELD(scraped, status.since_ns)},
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
	SHARES(arrived, "packets", IN_PACKETS, "Packets that came to"),
	SHARES(passed, "packets", IN_PACKETS, "Packets within"),
	SHARES(arrived, "bytes", IN_BYTES, "Bytes that came to"),
	SHARES(passed, "bytes", IN_BYTES, "Bytes within"),
	{"rlctl_share_packets_per_second", "gauge",
	 "Rate that each source or destination has of a limit in packets that is short.", OF_LIMITS,
	 .unit = IN_PACKETS, .has = has_pace, FIELD(share_counts, key_pace)},
	{"rlctl_share_bytes_per_second", "gauge",
	 "Rate that each source or destination has of a limit in bytes that is short.", OF_LIMITS,
	 .unit = IN_BYTES, .has = has_pace, FIELD(share_counts, key_pace)},
	{"rlctl_rule_open_connections", "gauge", "Connections that are open under a limit on them.",
	 OF_LIMITS, .has = has_connections, .print = connections_sample},
	{"rlctl_connection_keys", "gauge", "Keys with open connections, of all limits on them.",
	 OF_INSTANCE, .has = has_connections, FIELD(scraped, stats.connections.keys)},
	{"rlctl_connections_unseen_total", "counter",
	 "Connections that no limit counts because there was no room for their key.", OF_INSTANCE,
	 .has = has_connections, FIELD(scraped, stats.connections.unseen)},
	{"rlctl_policy_generation", "gauge",
	 "The policy applied last: a later one has a larger number.", OF_INSTANCE,
	 .has = has_generation, FIELD(scraped, generation)},
	{"rlctl_rules", "gauge", "Rules in force.", OF_INSTANCE,
	 FIELD(scraped, stats.policy.count)},
	{"rlctl_rules_single_address", "gauge",
	 "Rules in force without metrics because they allow or deny a single address.", OF_INSTANCE,
	 .print = one_address_sample},
	{"rlctl_rules_unlisted", "gauge", "Rules in force that are too many to have metrics.",
	 OF_INSTANCE, .print = unlisted_sample},
	{"rlctl_sources_used", "gauge", "States in use, one per key and limit.", OF_INSTANCE,
	 FIELD(scraped, status.sources_used)},
	{"rlctl_sources_capacity", "gauge", "States that can be kept.", OF_INSTANCE,
	 FIELD(scraped, instance.info.sources)},
	{"rlctl_hot_slots_live", "gauge", "Slots of the hot table with debt.", OF_INSTANCE,
	 .has = has_hot, FIELD(scraped, stats.hot_live)},
	{"rlctl_hot_slots", "gauge", "Slots of the hot table.", OF_INSTANCE, .has = has_hot,
	 FIELD(scraped, stats.hot_slots)},
	RL_HOT_PRESSURES(PRESSURE) /* with a comma after each */
	{"rlctl_bans_refused_total", "counter", "Bans not started because there was no room.",
	 OF_INSTANCE, FIELD(scraped, stats.pressure[RL_PRESSURE_BANS_REFUSED])},
	{"rlctl_bans_used", "gauge",
	 "Bans that take up room: those in force, and some that are over.", OF_INSTANCE,
	 FIELD(scraped, status.bans_used)},
	{"rlctl_rule_bans", "gauge",
	 "Keys that a rule bans now; everything: sources banned by `over ban ... source`.", OF_BANS,
	 .has = has_bans, .size = sizeof(uint64_t)},
	{"rlctl_bans_capacity", "gauge", "Bans that can be in force at once.", OF_INSTANCE,
	 FIELD(scraped, instance.info.bans)},
	{"rlctl_set_members", "gauge", "Members of a set.", OF_SETS, .print = set_members_sample},
	{"rlctl_set_capacity", "gauge", "Members that a set may have.", OF_SETS,
	 .print = set_capacity_sample},
	SETS("matched_packets", matched.packets, "Packets from or to members of a set."),
	SETS("matched_bytes", matched.bytes, "Bytes from or to members of a set."),
	SETS("added", set.added, "Members added to a set."),
	SETS("extended", set.extended, "Members whose time in a set was extended."),
	SETS("deleted", set.deleted, "Members deleted from a set."),
	SETS("expired", set.expired, "Members that have expired and were removed from a set."),
	SETS("refused", set.refused, "Members not added because a set was full."),
	{"rlctl_set_loaded_timestamp_seconds", "gauge",
	 "When the file of a set was loaded last, in seconds since 1970.", OF_SETS,
	 .print = seconds_sample, FIELD(set_stats, set.loaded_ns)},
	{"rlctl_set_load_failed_timestamp_seconds", "gauge",
	 "When the file of a set failed to load, since it was loaded last.", OF_SETS,
	 .print = seconds_sample, FIELD(set_stats, set.failed_ns)},
	{"rlctl_alarm_on", "gauge", "Whether an alarm is on (1) or off (0).", OF_ALARMS,
	 FIELD(alarm_now, on)},
	{"rlctl_alarm_changes_total", "counter", "Times that an alarm went on or off.", OF_ALARMS,
	 FIELD(alarm_now, changes)},
	{"rlctl_alarm_packets_total", "counter", "Packets that an alarm in packets counted.",
	 OF_ALARMS, .unit = IN_PACKETS, FIELD(alarm_now, counted)},
	{"rlctl_alarm_bytes_total", "counter", "Bytes that an alarm in bytes or bits counted.",
	 OF_ALARMS, .unit = IN_BYTES, FIELD(alarm_now, counted)},
	{"rlctl_alarm_packets_per_second", "gauge",
	 "Rate that an alarm in packets saw last, over a tenth of its time.", OF_ALARMS,
	 .unit = IN_PACKETS, .print = alarm_rate_sample},
	{"rlctl_alarm_bytes_per_second", "gauge",
	 "Rate that an alarm in bytes or bits saw last, over a tenth of its time.", OF_ALARMS,
	 .unit = IN_BYTES, .print = alarm_rate_sample},
	{"rlctl_memory_bytes", "gauge", "Memory of all maps as accounted by the kernel.",
	 OF_INSTANCE, FIELD(scraped, status.memory_bytes)},
};

static void metric_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	const struct metric *metric = page->metric;

	if (!is_of_unit(page, scraped, i) || (metric->has && !metric->has(scraped, i)))
		return;
	if (metric->print)
		return metric->print(page, scraped, i);
	sample_begin(page, scraped, i);
	sample_end(page, number_of(page, scraped, i));
}

/* Limits, or all other rules: at most `left`. Returns the rest of `left`. */
static size_t rules_print(struct page *page, const struct scraped *scraped, bool limits,
			  size_t left)
{
	const struct policy *policy = &scraped->stats.policy;

	for (size_t i = 0; left && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if ((rule->action == RL_ACTION_LIMIT) != limits || !may_be_listed(page, rule))
			continue;
		metric_sample(page, scraped, i);
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
			metric_sample(page, scraped, i);
		return;
	}
	left = rules_print(page, scraped, true, listed_max(page));
	if (of == OF_RULES)
		rules_print(page, scraped, false, left);
	if (of == OF_BANS)
		metric_sample(page, scraped, stats->policy.count);
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
