// SPDX-License-Identifier: GPL-2.0-only
/* rlctl diff: what `apply` would change. Reads only, and so needs no more privileges than `show`.
 */

#include "cli/guard/session.h"
#include "cli/output/stats_output.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

/* The arrays of the document. */
struct diff {
	const struct policy_context *ctx;
	struct json_object *added, *removed, *changed;
};

/* One line of either policy, or of both; NULL: it has none. */
static void lines_tell(const struct diff *diff, const char *from, const char *to)
{
	struct json_object *pair;

	if (from)
		text_print("- %s\n", from);
	if (to)
		text_print("+ %s\n", to);
	if (!output_json) /* policies may have a million rules */
		return;
	if (!from || !to) {
		json_append(from ? diff->removed : diff->added,
			    json_object_new_string(from ? from : to));
	} else {
		pair = json_object_new_object();
		json_put_text(pair, "from", from);
		json_put_text(pair, "to", to);
		json_append(diff->changed, pair);
	}
}

static void rule_tell(const struct rule *from, const struct rule *to, void *arg)
{
	const struct diff *diff = arg;
	char before[STATEMENT_TEXT_MAX], after[STATEMENT_TEXT_MAX];

	if (from)
		statement_print(before, from, diff->ctx);
	if (to)
		statement_print(after, to, diff->ctx);
	lines_tell(diff, from ? before : NULL, to ? after : NULL);
}

static void set_tell(const struct policy_set *from, const struct policy_set *to, void *arg)
{
	char before[SET_TEXT_MAX], after[SET_TEXT_MAX];

	if (from)
		set_print(before, sizeof(before), from);
	if (to)
		set_print(after, sizeof(after), to);
	lines_tell(arg, from ? before : NULL, to ? after : NULL);
}

static void alarm_tell(const struct policy_alarm *from, const struct policy_alarm *to, void *arg)
{
	const struct diff *diff = arg;
	char before[ALARM_TEXT_MAX], after[ALARM_TEXT_MAX];

	if (from)
		alarm_print(before, sizeof(before), from, diff->ctx);
	if (to)
		alarm_print(after, sizeof(after), to, diff->ctx);
	lines_tell(diff, from ? before : NULL, to ? after : NULL);
}

void policies_diff_print(const struct command *command, const struct instance *instance,
			 const struct policy *from, const struct policy *to,
			 const struct policy_context *ctx)
{
	struct diff diff = {.ctx = ctx,
			    .added = json_object_new_array(),
			    .removed = json_object_new_array(),
			    .changed = json_object_new_array()};
	struct json_object *document = json_instance(instance);
	size_t count = policy_sets_diff(from, to, set_tell, &diff);
	count += policy_alarms_diff(from, to, alarm_tell, &diff);
	count += policy_diff(from, to, rule_tell, &diff);
	if (!count)
		text_note("%s: no difference", instance->device);
	json_put(document, "added", diff.added);
	json_put(document, "removed", diff.removed);
	json_put(document, "changed", diff.changed);
	document_print(command, document);
}

static int diff_run(const struct command *command, struct session *session, void *arg)
{
	const struct policy_file *file = arg;
	CLEARED struct policy to = {0};
	/* The file is checked as `apply --check` does, with the same notes, so that it would be
	 * applied. */
	int rc = policy_file_parse(file, &session->ctx, &to)
			 ?: instance_policy_check(&session->instance, &to, &file->source);

	if (!rc)
		policy_warnings_note(&file->source, &to, &session->ctx);
	rc = rc ?: instance_policy_read(&session->instance, &session->policy);
	if (!rc)
		policies_diff_print(command, &session->instance, &session->policy, &to,
				    &session->ctx);
	return rc;
}

int cmd_diff(const struct command *command)
{
	CLEARED_FILE struct policy_file file = {0};

	return policy_file_read(command->words[0], &file)
		       ?: sessions_read(command, SESSION_LOOK, diff_run, &file);
}
