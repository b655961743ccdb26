// SPDX-License-Identifier: GPL-2.0-only
/* rlctl status: the attached instances. The JSON extends that of stats. */
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/output/line.h"
#include "cli/output/stats_output.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/group.h"
#include "kernel/state/stats.h"
#include "watch/events/alarms.h"

/* Heading NULL: JSON only. */
static void report_use(struct report *report, const char *key, const char *heading, uint64_t used,
		       uint64_t capacity)
{
	struct json_object *object = json_object_new_object();
	char number[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX], text[2 * NUMBER_TEXT_MAX + 8];

	number_print(number, used);
	number_print(most, capacity);
	snprintf(text, sizeof(text), "%s / %s", number, most);
	json_put_number(object, "used", used);
	json_put_number(object, "capacity", capacity);
	report_text(report, NULL, heading, text);
	report_value(report, key, object);
}

/* The probability that a new key finds all ways of its set live, at the current load. The number of
 * keys in a set is Poisson distributed. */
static void report_odds(struct report *report, const struct instance_stats *stats)
{
	char text[NUMBER_TEXT_MAX];
	double load, term, fewer = 0;

	if (!stats->hot_slots) {
		report_none(report, "eviction");
		return;
	}
	load = (double)stats->hot_live * RL_HOT_WAYS / stats->hot_slots;
	term = exp(-load);
	for (int live = 0; live < RL_HOT_WAYS; live++) {
		fewer += term;
		term *= load / (live + 1);
	}
	fewer = fewer < 1 ? fewer : 1;
	snprintf(text, sizeof(text), "%.4f %%", (1 - fewer) * 100);
	report_text(report, NULL, "eviction", text);
	report_value(report, "eviction_odds", json_object_new_double(1 - fewer));
}

/* The kernel keeps per-CPU values for every possible CPU. */
static void report_cpus(struct report *report, const struct rl_instance *info,
			const struct instance_status *status, bool shown)
{
	struct json_object *cpus = json_object_new_object();
	char text[2 * NUMBER_TEXT_MAX], each[NUMBER_TEXT_MAX];

	json_put_number(cpus, "online", info->cpus);
	json_put_number(cpus, "possible", info->possible_cpus);
	json_put_number(cpus, "memory_bytes", status->cpu_bytes);
	report_value(report, "cpus", cpus);
	if (!shown)
		return;
	size_print(each, status->cpu_bytes);
	snprintf(text, sizeof(text), "%u online, %u x %s", info->cpus, info->possible_cpus, each);
	report_text(report, NULL, "of it by CPU", text);
}

struct found {
	struct instance instance; /* already closed */
	struct instance_status status;
	struct instance_stats stats;
	bool has_group;
	gid_t group;
};

struct found_all {
	struct found *items;
	size_t count;
	bool groups;              /* some instance has a group */
	bool companions, missing; /* some instance has one, or it is gone */
	bool conntrack;           /* some instance asks it, not sockets */
	bool cpus;                /* some instance keeps values for CPUs that are not online */
};

/* The program at egress that notes what this machine asks, where the policy needs it. */
static void report_companion(struct report *report, const struct found *found, bool shown)
{
	struct json_object *companion = json_object_new_object();
	uint32_t id = found->status.companion_id;

	if (!found->instance.info.companion) {
		json_object_put(companion);
		if (shown)
			report_none(report, "companion");
		return;
	}
	if (id)
		json_put_number(companion, "program_id", id);
	else
		json_object_object_add(companion, "program_id", NULL);
	report_value(report, "companion", companion);
	if (id)
		report_id(report, NULL, "companion", id);
	else
		report_text(report, NULL, "companion", "missing");
}

static void report_instance(struct report *report, const struct found *found,
			    const struct found_all *all)
{
	const struct instance *instance = &found->instance;
	const struct instance_status *status = &found->status;
	const struct instance_stats *stats = &found->stats;
	char number[NUMBER_TEXT_MAX];
	struct group *group;

	report_begin(report, json_stats(instance, stats));
	report_text(report, NULL, "device", instance->device);
	report_text(report, NULL, "hook", hook_name(instance->info.hook));
	report_text(report, "mode", "mode", mode_name(status->mode));
	report_id(report, "program_id", "program", status->program_id);
	report_time(report, "since", "since", status->since_ns);
	report_number(report, NULL, "rules", stats->policy.count);
	report_text(report, "table", "table", table_name(instance->info.table));
	report_text(report, "state", all->conntrack ? "state" : NULL,
		    proof_name(instance->info.proof));
	report_number(report, "challenge_rate", NULL, instance->info.challenge_rate);
	report_use(report, "sources", "sources", status->sources_used, instance->info.sources);
	/* Most policies have no bans. */
	report_use(report, "bans", NULL, status->bans_used, instance->info.bans);
	report_odds(report, stats);
	report_bytes(report, "memory_bytes", "memory", status->memory_bytes);
	report_cpus(report, &instance->info, status, all->cpus);
	report_companion(report, found, all->companions);
	if (all->groups && !found->has_group)
		report_none(report, "group");
	if (!found->has_group)
		return;
	group = getgrgid(found->group);
	snprintf(number, sizeof(number), "%u", (unsigned int)found->group);
	report_text(report, "group", "group", group ? group->gr_name : number);
}

static int visit(struct instance *instance, void *arg)
{
	struct found_all *all = arg;
	struct found found = {.instance = *instance};
	int rc = group_read(instance->path, &found.group);

	found.has_group = !rc;
	if (rc && rc != -ENOENT)
		return fail("%s: reading the group failed: %s", instance->device, strerror(-rc));
	rc = instance_status_read(instance, &found.status);
	rc = rc ?: instance_stats_read(instance, &found.stats);
	if (rc)
		return rc == -ENOENT || rc == -ESTALE
			       ? 0
			       : rc; /* detached meanwhile; goes on with the others */
	all->items = xreallocarray(all->items, all->count + 1, sizeof(found));
	all->items[all->count++] = found;
	all->groups = all->groups || found.has_group;
	all->companions = all->companions || instance->info.companion;
	all->missing = all->missing || (instance->info.companion && !found.status.companion_id);
	all->conntrack = all->conntrack || instance->info.proof == RL_PROOF_CONNTRACK;
	all->cpus = all->cpus || instance->info.possible_cpus > instance->info.cpus;
	return 0;
}

/* A line for each alarm: below the table, which has a line for each instance. */
static void alarms_note(const struct found *found)
{
	const struct alarms_now *alarms = &found->stats.alarms;
	char text[ALARM_LINE_MAX], *shown, *device = text_shown(found->instance.device);

	for (uint32_t i = 0; i < alarms->count; i++) {
		struct screen_line line = {0};
		int phase;

		alarm_line_print(text, sizeof(text), &alarms->alarm[i], &found->stats.alarms_at);
		shown = text_shown(text);
		phase = (int)(strrchr(shown, ',') - shown);
		line_add(&line, LINE_STAYS, "%s %s: alarm %.*s", device,
			 hook_name(found->instance.info.hook), phase, shown);
		line_add(&line, 1, "%s", shown + phase);
		free(shown);
		line_print(&line);
	}
	free(device);
}

int nothing_attached(const struct target *target)
{
	struct instance instance;

	if (!target->device) {
		note("nothing attached: `rlctl attach DEV`");
		return 0;
	}
	if (!instance_open(target, false, &instance)) { /* reports */
		instance_close(&instance);
		fail("%s: attached just now: try again", target->device);
	}
	return -1;
}

int cmd_status(const struct command *command)
{
	static const char *const drops[] = {"companion", "eviction", "of it by CPU", "table",
					    "program",   "since",    "memory",       "sources",
					    "state",     "group",    "mode",         NULL};
	struct found_all all = {0};
	struct report report = {0};
	struct json_object *array;
	int rc = instance_for_each(&command->target, visit, &all);

	if (!rc && !all.count)
		rc = nothing_attached(&command->target);
	report.drops = drops + all.missing; /* a companion that is missing stays */
	for (size_t i = 0; i < all.count; i++)
		report_instance(&report, &all.items[i], &all);
	array = report_end(&report);
	for (size_t i = 0; i < all.count; i++) {
		if (!output_json)
			alarms_note(&all.items[i]);
		instance_stats_clear(&all.items[i].stats);
	}
	free(all.items);
	if (!rc && output_json)
		json_print(array);
	else
		json_object_put(array);
	return rc;
}
