// SPDX-License-Identifier: GPL-2.0-only
/* rlctl show: prints the policy in force in the format that apply reads. */

#include <stdlib.h>
#include <string.h>

#include "cli/guard/session.h"
#include "cli/output/stats_output.h"

struct lines {
	const struct policy *policy;
	size_t count;
	struct json_object *all, *comments;
};

/* The comment of a line of policy_lines(). */
static const char *comment_of(const struct policy *policy, size_t line)
{
	if (line < policy->set_count)
		return policy->sets[line].comment;
	line -= policy->set_count;
	if (line < policy->alarm_count)
		return policy->alarms[line].comment;
	return policy->rules[line - policy->alarm_count].comment;
}

/* The line without its comment, and what has one again, with it. */
static void line_put(const char *line, void *arg)
{
	struct lines *lines = arg;
	const char *comment = comment_of(lines->policy, lines->count++);
	size_t tail = *comment ? strlen(" # ") + strlen(comment) : 0;
	struct json_object *bare = json_object_new_string_len(line, (int)(strlen(line) - tail));
	char kind[sizeof("alarm")];

	json_append(lines->all, bare);
	if (*comment) {
		struct json_object *entry = json_object_new_object();

		snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(line, " "), line);
		json_put(entry, kind, json_object_get(bare));
		json_put_text(entry, "comment", comment);
		json_append(lines->comments, entry);
	}
}

static int show(const struct command *command, struct session *session, void *arg)
{
	struct lines lines = {.policy = &session->policy};
	struct json_object *document;
	size_t size;
	char *text;

	(void)arg;
	if (!output_json) {
		text = policy_text(&session->policy, &session->ctx, &size);
		fwrite(text, 1, size, stdout);
		free(text);
		return 0;
	}
	lines.all = json_object_new_array();
	lines.comments = json_object_new_array();
	policy_lines(&session->policy, &session->ctx, line_put, &lines);
	document = json_instance(&session->instance);
	json_put(document, "policy", lines.all);
	if (json_object_array_length(lines.comments))
		json_put(document, "comments", lines.comments);
	else
		json_object_put(lines.comments);
	document_print(command, document);
	return 0;
}

int cmd_show(const struct command *command)
{
	return sessions_read(command, SESSION_READ, show, NULL);
}
