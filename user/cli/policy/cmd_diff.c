// SPDX-License-Identifier: GPL-2.0-only
/* rlctl diff: what `apply` would change. Reads only, and so needs no more privileges than `show`.
 */
#include <stdio.h>

#include "base/message.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/output/stats_output.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "policy/alarm.h"
#include "policy/policy.h"
#include "policy/set.h"

/* With -j, the arrays of the document; else NULL. */
struct diff {
	const struct policy_context *ctx;
	struct json_object *added, *removed, *changed;
};

static void line_tell(const struct rule *from, const struct rule *to, void *arg)
{
	const struct diff *diff = arg;
	char line[STATEMENT_TEXT_MAX];

	if (from) {
		statement_print(line, from, diff->ctx);
		printf("- %s\n", line);
	}
	if (to) {
		statement_print(line, to, diff->ctx);
		printf("+ %s\n", line);
	}
}

static void set_tell(const struct policy_set *from, const struct policy_set *to, void *arg)
{
	char line[SET_TEXT_MAX];

	(void)arg;
	if (from) {
		set_print(line, sizeof(line), from);
		printf("- %s\n", line);
	}
	if (to) {
		set_print(line, sizeof(line), to);
		printf("+ %s\n", line);
	}
}

static void alarm_tell(const struct policy_alarm *from, const struct policy_alarm *to, void *arg)
{
	const struct diff *diff = arg;
	char line[ALARM_TEXT_MAX];

	if (from) {
		alarm_print(line, sizeof(line), from, diff->ctx);
		printf("- %s\n", line);
	}
	if (to) {
		alarm_print(line, sizeof(line), to, diff->ctx);
		printf("+ %s\n", line);
	}
}

static struct json_object *line_new(const struct rule *rule, const struct diff *diff)
{
	char line[STATEMENT_TEXT_MAX];

	statement_print(line, rule, diff->ctx);
	return json_object_new_string(line);
}

static struct json_object *set_line_new(const struct policy_set *set)
{
	char line[SET_TEXT_MAX];

	set_print(line, sizeof(line), set);
	return json_object_new_string(line);
}

static struct json_object *alarm_line_new(const struct policy_alarm *alarm, const struct diff *diff)
{
	char line[ALARM_TEXT_MAX];

	alarm_print(line, sizeof(line), alarm, diff->ctx);
	return json_object_new_string(line);
}

/* Takes the lines; one of them may be NULL. */
static void pair_append(const struct diff *diff, struct json_object *from, struct json_object *to)
{
	struct json_object *pair;

	if (!from || !to) {
		json_append(from ? diff->removed : diff->added, from ? from : to);
		return;
	}
	pair = json_object_new_object();
	json_put(pair, "from", from);
	json_put(pair, "to", to);
	json_append(diff->changed, pair);
}

static void json_tell(const struct rule *from, const struct rule *to, void *arg)
{
	pair_append(arg, from ? line_new(from, arg) : NULL, to ? line_new(to, arg) : NULL);
}

static void json_set_tell(const struct policy_set *from, const struct policy_set *to, void *arg)
{
	pair_append(arg, from ? set_line_new(from) : NULL, to ? set_line_new(to) : NULL);
}

static void json_alarm_tell(const struct policy_alarm *from, const struct policy_alarm *to,
			    void *arg)
{
	pair_append(arg, from ? alarm_line_new(from, arg) : NULL,
		    to ? alarm_line_new(to, arg) : NULL);
}

static void diff_print(const struct command *command, const struct instance *instance,
		       const struct policy *from, const struct policy *to,
		       const struct policy_context *ctx)
{
	struct diff diff = {.ctx = ctx};
	struct json_object *document;

	if (!output_json) {
		size_t count = policy_sets_diff(from, to, set_tell, &diff);

		count += policy_alarms_diff(from, to, alarm_tell, &diff);
		if (!(count + policy_diff(from, to, line_tell, &diff)))
			note("%s: no difference", instance->device);
		return;
	}
	document = json_instance(instance);
	diff.added = json_object_new_array();
	diff.removed = json_object_new_array();
	diff.changed = json_object_new_array();
	policy_sets_diff(from, to, json_set_tell, &diff);
	policy_alarms_diff(from, to, json_alarm_tell, &diff);
	policy_diff(from, to, json_tell, &diff);
	json_put(document, "added", diff.added);
	json_put(document, "removed", diff.removed);
	json_put(document, "changed", diff.changed);
	document_print(command, document);
}

/* The file is checked as `apply --check` does, with the same notes, so that it would be applied. */
static int file_check(const struct policy_file *file, const struct instance *instance,
		      const struct policy_context *ctx, struct policy *out)
{
	int rc = policy_file_parse(file, ctx, out);

	if (!rc)
		rc = instance_policy_check(instance, out, &file->source);
	if (!rc)
		policy_warnings_note(&file->source, out, ctx);
	return rc;
}

static int diff_run(const struct command *command, void *arg)
{
	const struct policy_file *file = arg;
	struct policy from = {0}, to = {0};
	struct policy_context ctx;
	struct instance instance;
	int rc = instance_open(&command->target, false, &instance);

	if (rc)
		return rc;
	instance_context(&instance, &ctx);
	rc = file_check(file, &instance, &ctx, &to);
	if (!rc)
		rc = instance_policy_read(&instance, &from);
	if (!rc)
		diff_print(command, &instance, &from, &to, &ctx);
	policy_clear(&from);
	policy_clear(&to);
	instance_close(&instance);
	return rc;
}

int cmd_diff(const struct command *command)
{
	struct policy_file file;
	int rc = policy_file_read(command->words[0], &file);

	if (rc)
		return rc;
	rc = targets_read(command, diff_run, &file);
	policy_file_clear(&file);
	return rc;
}
