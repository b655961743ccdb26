// SPDX-License-Identifier: GPL-2.0-only
/* rlctl show: prints the policy in force in the format that apply reads. */

#include "cmd.h"
#include "instance.h"
#include "open.h"
#include "output.h"
#include "policy.h"
#include "policy_write.h"
#include "stats_output.h"

static void show_text(const struct policy *policy, const struct policy_context *ctx)
{
	char line[STATEMENT_TEXT_MAX];

	policy_for_each (policy, rule) {
		statement_print(line, rule, ctx);
		puts(line);
	}
}

/* Rules that have comments, beside the array of all rules. */
static void json_put_comments(struct json_object *document, const struct policy *policy,
			      const struct policy_context *ctx)
{
	struct json_object *list = json_object_new_array(), *entry;
	char line[RULE_TEXT_MAX];

	policy_for_each (policy, rule) {
		if (!rule->comment[0])
			continue;
		rule_print(line, sizeof(line), rule, ctx);
		entry = json_object_new_object();
		json_put(entry, "rule", json_object_new_string(line));
		json_put(entry, "comment", json_object_new_string(rule->comment));
		json_append(list, entry);
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
	char line[RULE_TEXT_MAX];

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
		show_text(&policy, &ctx);
	policy_clear(&policy);
	instance_close(&instance);
	return rc;
}

int cmd_show(const struct command *command)
{
	return targets_read(command, show, NULL);
}
