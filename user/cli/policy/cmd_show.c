// SPDX-License-Identifier: GPL-2.0-only
/* rlctl show: prints the policy in force in the format that apply reads. */

#include "cli/cmd.h"
#include "cli/output/stats_output.h"
#include "kernel/policy/policy_read.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

static void line_put(const char *line, void *arg)
{
	(void)arg;
	puts(line);
}

static void comment_put(struct json_object *list, const char *kind, const char *line,
			const char *comment)
{
	struct json_object *entry;

	if (!comment[0])
		return;
	entry = json_object_new_object();
	json_put_text(entry, kind, line);
	json_put_text(entry, "comment", comment);
	json_append(list, entry);
}

/* The line of a set without its comment. */
static void set_format(char out[SET_TEXT_MAX], const struct policy_set *set)
{
	struct policy_set bare = *set;

	bare.comment[0] = '\0';
	set_print(out, SET_TEXT_MAX, &bare);
}

/* The same of an alarm. */
static void alarm_format(char out[ALARM_TEXT_MAX], const struct policy_alarm *alarm,
			 const struct policy_context *ctx)
{
	struct policy_alarm bare = *alarm;

	bare.comment[0] = '\0';
	alarm_print(out, ALARM_TEXT_MAX, &bare, ctx);
}

/* Statements that have comments, beside the array of all lines. */
static void json_put_comments(struct json_object *document, const struct policy *policy,
			      const struct policy_context *ctx)
{
	struct json_object *list = json_object_new_array();
	char line[RULE_TEXT_MAX], set[SET_TEXT_MAX], alarm[ALARM_TEXT_MAX];

	for (size_t i = 0; i < policy->set_count; i++) {
		set_format(set, &policy->sets[i]);
		comment_put(list, "set", set, policy->sets[i].comment);
	}
	for (size_t i = 0; i < policy->alarm_count; i++) {
		alarm_format(alarm, &policy->alarms[i], ctx);
		comment_put(list, "alarm", alarm, policy->alarms[i].comment);
	}
	policy_for_each (policy, rule) {
		rule_print(line, sizeof(line), rule, ctx);
		comment_put(list, "rule", line, rule->comment);
	}
	if (json_object_array_length(list))
		json_put(document, "comments", list);
	else
		json_object_put(list);
}

static void show_json(const struct command *command, const struct instance *instance,
		      const struct policy *policy, const struct policy_context *ctx)
{
	struct json_object *document = json_instance(instance);
	struct json_object *lines = json_object_new_array();
	char line[RULE_TEXT_MAX], set[SET_TEXT_MAX], alarm[ALARM_TEXT_MAX];

	for (size_t i = 0; i < policy->set_count; i++) {
		set_format(set, &policy->sets[i]);
		json_append(lines, json_object_new_string(set));
	}
	for (size_t i = 0; i < policy->alarm_count; i++) {
		alarm_format(alarm, &policy->alarms[i], ctx);
		json_append(lines, json_object_new_string(alarm));
	}
	policy_for_each (policy, rule) {
		rule_print(line, sizeof(line), rule, ctx);
		json_append(lines, json_object_new_string(line));
	}
	json_put(document, "policy", lines);
	json_put_comments(document, policy, ctx);
	document_print(command, document);
}

static int show(const struct command *command, void *arg)
{
	struct policy policy = {0};
	struct policy_context ctx;
	struct instance instance;
	int rc = instance_open(&command->target, false, &instance);

	(void)arg;
	if (rc)
		return rc;
	instance_context(&instance, &ctx);
	rc = instance_policy_read(&instance, &policy);
	if (!rc && output_json)
		show_json(command, &instance, &policy, &ctx);
	else if (!rc)
		policy_lines(&policy, &ctx, line_put, NULL);
	policy_clear(&policy);
	instance_close(&instance);
	return rc;
}

int cmd_show(const struct command *command)
{
	return targets_read(command, show, NULL);
}
