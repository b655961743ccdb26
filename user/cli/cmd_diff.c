// SPDX-License-Identifier: GPL-2.0-only
/* rlctl diff: what `apply` would change. Reads only, and so needs no more privileges than `show`.
 */
#include <stdio.h>

#include "cmd.h"
#include "instance.h"
#include "message.h"
#include "open.h"
#include "output.h"
#include "policy.h"
#include "policy_write.h"
#include "stats_output.h"

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

static struct json_object *line_new(const struct rule *rule, const struct diff *diff)
{
	char line[STATEMENT_TEXT_MAX];

	statement_print(line, rule, diff->ctx);
	return json_object_new_string(line);
}

static void json_tell(const struct rule *from, const struct rule *to, void *arg)
{
	const struct diff *diff = arg;
	struct json_object *pair;

	if (!from || !to) {
		json_append(from ? diff->removed : diff->added, line_new(from ? from : to, diff));
		return;
	}
	pair = json_object_new_object();
	json_put(pair, "from", line_new(from, diff));
	json_put(pair, "to", line_new(to, diff));
	json_append(diff->changed, pair);
}

static void diff_print(const struct command *command, const struct instance *instance,
		       const struct policy *from, const struct policy *to,
		       const struct policy_context *ctx)
{
	struct diff diff = {.ctx = ctx};
	struct json_object *document;

	if (!output_json) {
		if (!policy_diff(from, to, line_tell, &diff))
			note("%s: no difference", instance->device);
		return;
	}
	document = json_instance(instance);
	diff.added = json_object_new_array();
	diff.removed = json_object_new_array();
	diff.changed = json_object_new_array();
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
