// SPDX-License-Identifier: GPL-2.0-only
/* rlctl show: prints the policy in force in the format that apply reads. */

#include <stdlib.h>

#include "cli/guard/session.h"
#include "cli/output/stats_output.h"
#include "kernel/policy/policy_read.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

/* A line, and what has a comment again, beside the array of all lines. */
static void statement_put(struct json_object *lines, struct json_object *comments, const char *kind,
			  const char *line, const char *comment)
{
	struct json_object *entry;

	json_append(lines, json_object_new_string(line));
	if (!comment[0])
		return;
	entry = json_object_new_object();
	json_put_text(entry, kind, line);
	json_put_text(entry, "comment", comment);
	json_append(comments, entry);
}

/* The lines are without their comments. */
static void show_json(const struct command *command, const struct session *session)
{
	const struct policy *policy = &session->policy;
	struct json_object *document = json_instance(&session->instance);
	struct json_object *lines = json_object_new_array(), *comments = json_object_new_array();
	char line[RULE_TEXT_MAX], set[SET_TEXT_MAX], alarm[ALARM_TEXT_MAX];

	for (size_t i = 0; i < policy->set_count; i++) {
		struct policy_set bare = policy->sets[i];

		bare.comment[0] = '\0';
		set_print(set, sizeof(set), &bare);
		statement_put(lines, comments, "set", set, policy->sets[i].comment);
	}
	for (size_t i = 0; i < policy->alarm_count; i++) {
		struct policy_alarm bare = policy->alarms[i];

		bare.comment[0] = '\0';
		alarm_print(alarm, sizeof(alarm), &bare, &session->ctx);
		statement_put(lines, comments, "alarm", alarm, policy->alarms[i].comment);
	}
	policy_for_each (policy, rule) {
		rule_print(line, sizeof(line), rule, &session->ctx);
		statement_put(lines, comments, "rule", line, rule->comment);
	}
	json_put(document, "policy", lines);
	if (json_object_array_length(comments))
		json_put(document, "comments", comments);
	else
		json_object_put(comments);
	document_print(command, document);
}

static int show(const struct command *command, void *arg)
{
	struct session session;
	int rc = session_read(command, &session);
	size_t size;
	char *text;

	(void)arg;
	if (rc)
		return rc;
	if (output_json) {
		show_json(command, &session);
	} else {
		text = policy_text(&session.policy, &session.ctx, &size);
		fwrite(text, 1, size, stdout);
		free(text);
	}
	session_close(&session);
	return 0;
}

int cmd_show(const struct command *command)
{
	return targets_read(command, show, NULL);
}
