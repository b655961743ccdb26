// SPDX-License-Identifier: GPL-2.0-only
/* Counters of an instance as JSON, whose keys are stable, and as tables. */

#include "kernel/state/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/line.h"
#include "cli/output/output.h"
#include "cli/output/shares_output.h"
#include "cli/output/stats_output.h"
#include "cli/terminal.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/instance.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"

struct json_object *json_instance(const struct instance *instance)
{
	struct json_object *object = json_object_new_object();

	json_put_text(object, "device", instance->device);
	json_put_text(object, "hook", hook_name(instance->info.hook));
	return object;
}

/* The sum over all reasons that pass, or over all that drop. */
static struct rl_amount reasons_sum(const struct instance_stats *stats, bool passes)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < RL_REASON_COUNT; i++)
		if (reason_rows[i].passes == passes)
			amount_add(&sum, &stats->reasons[i]);
	return sum;
}

/* ---- amounts and rates; sets as a table and as JSON */

/* The counters, and, if not NULL, those of `elapsed_ns` earlier. */
struct reading {
	const struct instance_stats *now;
	const struct instance_stats *before;
	uint64_t elapsed_ns;
};

/* A counter that decreased was reset meanwhile (the rule was deleted and added again). */
static uint64_t rate_of(const struct reading *reading, uint64_t now, uint64_t before)
{
	uint64_t ms = reading->elapsed_ns / NS_PER_MS;
	uint64_t grown = now >= before ? now - before : now;

	return ms ? (uint64_t)((unsigned __int128)grown * 1000 / ms) : 0;
}

/* Packets, under the heading, and bytes, and beside each its rate, where there is one. */
static void report_amount(struct report *report, const struct reading *reading, const char *heading,
			  const struct rl_amount *now, const struct rl_amount *before)
{
	report_number(report, NULL, heading, now->packets);
	if (reading->before && before)
		report_number(report, NULL, "/s", rate_of(reading, now->packets, before->packets));
	report_number(report, NULL, "bytes", now->bytes);
	if (reading->before && before)
		report_number(report, NULL, "/s", rate_of(reading, now->bytes, before->bytes));
}

/* The columns of report_amount(), the first of which is given: of bytes, or of packets. */
static uint32_t amount_columns(const struct reading *reading, unsigned int first, bool bytes)
{
	unsigned int each = reading->before ? 2 : 1;

	return ((1u << each) - 1) << (first + bytes * each);
}

static struct json_object *sets_report(const struct reading *reading, bool document)
{
	static const char *const sources[] = {"dynamic", "file", "mmdb"};
	static const struct rl_amount none;
	const struct instance_stats *stats = reading->now, *earlier = reading->before;
	const struct column_drop drops[] = {
		{7u << (earlier ? 6 : 4), REST_USUAL}, /* added, extended, expired */
		{amount_columns(reading, 2, true), REST_USUAL},
		{1u << 1, REST_LEAST},
		{0, 0}};
	struct report report = {.columns = drops, .document = document};

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		const struct rl_set *set = &stats->sets[i].set;
		const struct policy_set *words = &stats->policy.sets[i];
		const struct rl_amount *matched = &stats->sets[i].matched, *before = &none;

		for (size_t j = 0; earlier && j < earlier->policy.set_count; j++)
			if (!strcmp(earlier->policy.sets[j].name, words->name))
				before = &earlier->sets[j].matched;
		report_begin(&report, NULL);
		report_text(&report, "set", NULL, words->name);
		report_text(&report, "source", NULL, sources[words->source]);
		report_number(&report, "ipv4", NULL, set->members[0]);
		report_number(&report, "ipv6", NULL, set->members[1]);
		report_number(&report, NULL, "members",
			      (uint64_t)set->members[0] + set->members[1]);
		report_number(&report, "max", "max", words->max);
		report_amount(&report, reading, "matched", matched, before);
		report_number(&report, "added", "added", set->added);
		report_number(&report, "extended", "extended", set->extended);
		report_number(&report, "deleted", NULL, set->deleted);
		report_number(&report, "expired", "expired", set->expired);
		report_number(&report, "refused", "refused", set->refused);
		report_value(&report, "matched", json_amount(matched));
		if (set->loaded_ns)
			report_time(&report, "loaded", NULL, set->loaded_ns);
		if (set->failed_ns)
			report_time(&report, "load_failed", NULL, set->failed_ns);
		report_text(&report, NULL, "set", words->name);
	}
	return report_end(&report);
}

/* ---- JSON ---- */

void json_put_while(struct json_object *object, const struct rule *rule)
{
	bool off;
	const char *name = rule_while(rule, &off);

	if (name[0])
		json_put_text(object, "while", name);
	if (off)
		json_put_bool(object, "while_not", true);
}

static struct json_object *json_rule(const struct instance_stats *stats, size_t i,
				     const struct policy_context *ctx)
{
	const struct rule *rule = &stats->policy.rules[i];
	const struct rule_counters *counters = &stats->rules[i];
	struct json_object *object = json_object_new_object();
	char words[RULE_TEXT_MAX];

	rule_format(words, rule, ctx);
	json_put_text(object, "rule", words);
	json_put_while(object, rule);
	json_put(object, "passed", json_amount(&counters->passed));
	json_put(object, "dropped", json_amount(&counters->dropped));
	json_put(object, "shadow", json_amount(&counters->shadow));
	if (stats->connections.open && rule_limits_connections(rule))
		json_put_number(object, "open_connections", stats->connections.open[i]);
	if (stats->shares && has_share(rule))
		json_put(object, "share", json_share(rule, &stats->shares[i]));
	return object;
}

void json_put_stats(struct json_object *object, const struct instance *instance,
		    const struct instance_stats *stats)
{
	struct json_object *by_reason = json_object_new_object();
	struct json_object *rules = json_object_new_array(), *part;
	struct rl_amount passed = reasons_sum(stats, true), dropped = reasons_sum(stats, false);
	struct policy_context ctx;

	instance_context(instance, &ctx);
	for (int i = 0; i < RL_REASON_COUNT; i++)
		json_put(by_reason, reason_rows[i].text, json_amount(&stats->reasons[i]));
	for (size_t i = 0; i < stats->policy.count; i++)
		json_append(rules, json_rule(stats, i, &ctx));
	json_put(object, "passed", json_amount(&passed));
	json_put(object, "dropped", json_amount(&dropped));
	json_put(object, "reasons", by_reason);
	json_put(object, "rules", rules);
	if (stats->connections.open) {
		json_put(object, "connections", part = json_object_new_object());
		json_put_number(part, "keys", stats->connections.keys);
		json_put_number(part, "unseen", stats->connections.unseen);
	}
	if (stats->policy.set_count)
		json_put(object, "sets", sets_report(&(struct reading){.now = stats}, true));
}

#define PRESSURE_NAME(name_, text_) text_,
const char *const pressure_names[RL_PRESSURE_COUNT] = {RL_PRESSURES(PRESSURE_NAME)};

/* Without a hot table, only the pressure on bans is counted. */
static int first_pressure(const struct instance_stats *stats)
{
	return stats->hot_slots ? 0 : RL_PRESSURE_BANS_REFUSED;
}

struct json_object *json_stats(const struct instance *instance, const struct instance_stats *stats)
{
	struct json_object *object = json_instance(instance);
	struct json_object *pressure = json_object_new_object();

	json_put_time(object, "since", instance->info.since_ns);
	json_put_stats(object, instance, stats);
	json_put_alarms(object, &stats->alarms, &stats->alarms_at);
	json_put(object, "pressure", pressure);
	for (int i = first_pressure(stats); i < RL_PRESSURE_COUNT; i++)
		json_put_number(pressure, pressure_names[i], stats->pressure[i]);
	if (stats->hot_slots) {
		json_put_number(pressure, "slots_live", stats->hot_live);
		json_put_number(pressure, "slots", stats->hot_slots);
	}
	return object;
}

/* ---- tables ---- */

/* The sum of passed or dropped packets, and below it the reasons with packets. */
static void report_verdict(struct report *report, const struct reading *reading, bool passes)
{
	const struct instance_stats *stats = reading->now, *earlier = reading->before;
	struct rl_amount now = reasons_sum(stats, passes), before = {0};
	char name[NUMBER_TEXT_MAX];

	if (earlier)
		before = reasons_sum(earlier, passes);
	report_begin(report, NULL);
	report_text(report, NULL, "", passes ? "passed" : "dropped");
	report_amount(report, reading, "packets", &now, &before);
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		if (reason_rows[i].passes != passes || !stats->reasons[i].packets)
			continue;
		snprintf(name, sizeof(name), "  %s", reason_rows[i].text);
		report_begin(report, NULL);
		report_text(report, NULL, "", name);
		report_amount(report, reading, "packets", &stats->reasons[i],
			      earlier ? &earlier->reasons[i] : NULL);
	}
}

/* The number of the rule there; -1: there is none. */
static ssize_t rule_number(const struct instance_stats *stats, const struct rule *rule)
{
	const struct rule *found = stats ? policy_find(&stats->policy, rule) : NULL;

	return found ? found - stats->policy.rules : -1;
}

/* The heading of the packets over a limit that passed: a rule uses shadow mode, or spares what is
 * established, or has such packets. NULL: there are none. */
static const char *over_heading(const struct instance_stats *stats)
{
	static const char *const headings[] = {NULL, "shadow", "spared", "shadow/spared"};
	unsigned int kinds = 0;

	for (size_t i = 0; i < stats->policy.count; i++) {
		const struct rule *rule = &stats->policy.rules[i];
		bool limit = rule->action == RL_ACTION_LIMIT;

		if (limit && limit_spares(&rule->limit))
			kinds |= 2;
		else if (stats->rules[i].shadow.packets ||
			 (limit && rule->limit.over == RL_OVER_SHADOW))
			kinds |= 1;
	}
	return headings[kinds];
}

static void rules_table(const struct reading *reading, const struct policy_context *ctx)
{
	static const struct rule_counters none;
	const struct instance_stats *stats = reading->now;
	const char *shadow = over_heading(stats);
	unsigned int each = reading->before ? 4 : 2;
	uint32_t all = (1u << each * (shadow ? 3 : 2)) - 1;
	const struct column_drop drops[] = {
		{amount_columns(reading, 0, true), REST_USUAL},
		{amount_columns(reading, 2 * each, true) & all, REST_USUAL},
		{amount_columns(reading, each, true), REST_USUAL},
		{amount_columns(reading, 0, false), REST_LEAST},
		{amount_columns(reading, 2 * each, false) & all, REST_LEAST},
		{0, 0}};
	struct report report = {.columns = drops};
	char words[RULE_TEXT_MAX];

	for (size_t i = 0; i < stats->policy.count; i++) {
		const struct rule *rule = &stats->policy.rules[i];
		const struct rule_counters *now = &stats->rules[i];
		ssize_t earlier = rule_number(reading->before, rule);
		const struct rule_counters *before =
			earlier < 0 ? &none : &reading->before->rules[earlier];

		report_begin(&report, NULL);
		report_amount(&report, reading, "passed", &now->passed, &before->passed);
		report_amount(&report, reading, "dropped", &now->dropped, &before->dropped);
		if (shadow)
			report_amount(&report, reading, shadow, &now->shadow, &before->shadow);
		rule_format(words, rule, ctx);
		report_text(&report, NULL, "rule", words);
	}
	report_end(&report);
}

static void connections_table(const struct instance_stats *stats, const struct policy_context *ctx)
{
	char words[RULE_TEXT_MAX], keys[NUMBER_TEXT_MAX], unseen[NUMBER_TEXT_MAX];
	struct report report = {0};

	if (!stats->connections.open)
		return;
	putchar('\n');
	for (size_t i = 0; i < stats->policy.count; i++) {
		if (!rule_limits_connections(&stats->policy.rules[i]))
			continue;
		rule_format(words, &stats->policy.rules[i], ctx);
		report_begin(&report, NULL);
		report_number(&report, NULL, "open", stats->connections.open[i]);
		report_text(&report, NULL, "rule", words);
	}
	report_end(&report);
	number_print(keys, stats->connections.keys);
	number_print(unseen, stats->connections.unseen);
	printf("open connections: %s key%s, %s unseen\n", keys,
	       stats->connections.keys == 1 ? "" : "s", unseen);
}

static void tables_print(const struct instance *instance, const struct reading *reading)
{
	static const struct share_counts none;
	const struct instance_stats *now = reading->now, *before = reading->before;
	const struct column_drop drops[] = {{amount_columns(reading, 1, true), REST_USUAL}, {0, 0}};
	struct report reasons = {.columns = drops};
	struct policy_context ctx;

	instance_context(instance, &ctx);
	report_verdict(&reasons, reading, true);
	report_verdict(&reasons, reading, false);
	report_end(&reasons);
	if (now->policy.count) {
		putchar('\n');
		rules_table(reading, &ctx);
	}
	connections_table(now, &ctx);
	for (size_t i = 0; now->shares && i < now->policy.count; i++) {
		const struct rule *rule = &now->policy.rules[i];
		ssize_t earlier = before && before->shares ? rule_number(before, rule) : -1;

		share_print(rule, &ctx, &now->shares[i],
			    !before       ? NULL
			    : earlier < 0 ? &none
					  : &before->shares[earlier],
			    reading->elapsed_ns);
	}
	if (now->policy.set_count) {
		putchar('\n');
		sets_report(reading, false);
	}
	if (now->alarms.count) {
		putchar('\n');
		alarms_print(&now->alarms, &now->alarms_at);
	}
}

void stats_print_sums(const struct instance *instance, const struct instance_stats *stats)
{
	const struct reading reading = {.now = stats};

	tables_print(instance, &reading);
}

/* One line: counts, with --watch per second, and the use of the hot table, if there is one. */
static void pressure_print(const struct reading *reading)
{
	uint64_t ms = reading->before ? reading->elapsed_ns / NS_PER_MS : 0;
	const struct instance_stats *now = reading->now;
	int first = first_pressure(now);
	char text[NUMBER_TEXT_MAX];
	struct screen_line line = {0};
	bool stays;

	line_add(&line, LINE_STAYS, "pressure:");
	for (int i = first; i < RL_PRESSURE_COUNT; i++) {
		uint64_t n = now->pressure[i];

		if (reading->before)
			n = ms ? (n - reading->before->pressure[i]) * 1000 / ms : 0;
		number_print(text, n);
		stays = i == first || i == RL_PRESSURE_BANS_REFUSED;
		line_add(&line, stays ? LINE_STAYS : (unsigned int)(RL_PRESSURE_COUNT - i),
			 "%s %s%s %s", i > first ? "," : "", text, reading->before ? "/s" : "",
			 pressure_names[i]);
	}
	number_print(text, now->hot_slots);
	if (now->hot_slots)
		line_add(&line, 1, ", table %" PRIu64 ".%" PRIu64 " %% of %s live",
			 now->hot_live * 100 / now->hot_slots,
			 now->hot_live * 1000 / now->hot_slots % 10, text);
	putchar('\n');
	line_print(&line);
}

/* On a terminal that is watched, with the alarms that are on: their table may be below its end. */
void stats_head_print(const struct instance *instance, const struct instance_stats *now,
		      const struct instance_stats *before)
{
	char *device = text_shown(instance->device), alarms[RULE_TEXT_MAX], since[NUMBER_TEXT_MAX];
	struct screen_line line = {0};
	unsigned int rows, columns;

	line_add(&line, LINE_STAYS, "%s %s", device, hook_name(instance->info.hook));
	free(device);
	time_print(since, instance->info.since_ns, true);
	if (!before)
		line_add(&line, 1, ", counted since %s", since);
	if (before && terminal_size(&rows, &columns) &&
	    alarms_on_print(alarms, sizeof(alarms), &now->alarms, &now->alarms_at))
		line_add(&line, LINE_STAYS, "  %s", alarms);
	line_print(&line);
}

void stats_print(const struct instance *instance, const struct instance_stats *stats,
		 const struct instance_stats *before, uint64_t elapsed_ns)
{
	const struct reading reading = {.now = stats, .before = before, .elapsed_ns = elapsed_ns};

	tables_print(instance, &reading);
	pressure_print(&reading);
}
