// SPDX-License-Identifier: GPL-2.0-only
/* rlctl save: writes the policy in force to the file that the units read. */
#include <stdlib.h>
#include <string.h>

#include "cli/guard/session.h"
#include "cli/output/stats_output.h"
#include "cli/policy/save_file.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/selection.h"
#include "kernel/policy/policy_read.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

#ifndef RLCTL_POLICIES
#define RLCTL_POLICIES "/etc/rlctl"
#endif

/* Does the line begin with the word of a statement? */
static bool is_statement(const char *line)
{
	size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyz");

	return ((word == 4 && !strncmp(line, "rule", 4)) ||
		(word == 3 && !strncmp(line, "set", 3)) ||
		(word == 5 && !strncmp(line, "alarm", 5))) &&
	       strchr(" \t", line[word]);
}

static bool holds_all(const struct policy *policy, const struct policy *former)
{
	for (size_t i = 0; i < former->set_count; i++) {
		const struct policy_set *set = policy_set_find(policy, former->sets[i].name);

		if (!set || !same_set(set, &former->sets[i]))
			return false;
	}
	for (size_t i = 0; i < former->alarm_count; i++) {
		const struct policy_alarm *alarm =
			policy_alarm_find(policy, former->alarms[i].name);

		if (!alarm || !same_alarm(alarm, &former->alarms[i]))
			return false;
	}
	policy_for_each (former, rule) {
		const struct rule *found = policy_find(policy, rule);
		struct rule wanted = *rule;

		/* The time that is left passes by itself, so that it is no loss. */
		if (found && found->for_ns && rule->for_ns)
			wanted.for_ns = found->for_ns;
		if (!found || rule->comment_cut || !same_rule(found, &wanted))
			return false;
	}
	return true;
}

/* Has the former text anything that the policy in force has not? */
static bool loses_text(const char *text, size_t size, const void *arg)
{
	const struct session *saving = arg;
	CLEARED struct policy former = {0};
	CLEARED struct policy replaced = {0};
	struct policy_errors errors;

	/* Lines that are no statements: comments of their own, includes, errors. */
	for (const char *line = text, *end = text + size, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', end - line);

		next = newline ? newline + 1 : end;
		line += strspn(line, " \t\r\n");
		if (line < next && !is_statement(line))
			return true;
	}
	return policy_parse(text, size, &saving->ctx, &replaced, &former, &errors) ||
	       replaced.count || !holds_all(&saving->policy, &former);
}

static int policy_save(const struct command *command, struct session *session, const char *path)
{
	const struct instance *instance = &session->instance;
	struct json_object *document;
	bool backup = false;
	size_t size = 0, rules;
	char *text;
	int rc = instance_policy_read(instance, &session->policy);

	if (rc)
		return rc;
	rules = session->policy.count;
	text = policy_text(&session->policy, &session->ctx, &size);
	rc = file_save(path, text, size, loses_text, session, &backup);
	free(text);
	if (rc)
		return rc;
	if (backup)
		note("%s: it held comments, includes or rules that are not part of the policy in "
		     "force: the former file is %s~",
		     path, path);
	text_note("%s: saved %zu rule%s to %s", instance->device, rules, rules == 1 ? "" : "s",
		  path);
	document = json_instance(instance);
	json_put_text(document, "file", path);
	json_put_number(document, "rules", rules);
	json_put_bool(document, "backup", backup);
	document_print(command, document);
	return 0;
}

/* Refuses words for devices where the file is expected. 0 or EXIT_USAGE; reports. */
static int file_refuse(const char *file, const char *device)
{
	if (strpbrk(file, "/.") || (!selection_is_many(file) && strcmp(file, device) != 0))
		return 0;
	return wrong("save: '%s' names a device, not a file: `rlctl save -i %s`, or ./%s for a "
		     "file of this name",
		     file, file, file);
}

static int save(const struct command *command, struct session *session, void *arg)
{
	const char *file = command->word_count ? command->words[0] : NULL;
	const struct instance *instance = &session->instance;
	char path[PATH_MAX];
	int rc = file ? file_refuse(file, instance->device) : 0;

	(void)arg;
	rc = rc ?: trial_refuse(instance);
	if (!rc && !file) /* rlctl@DEV reads it, rlctl-egress@DEV that of egress */
		rc = instance_file_path("save", RLCTL_POLICIES, instance->device,
					instance->info.hook, "policy", path);
	if (!rc && command->phase != PHASE_CHECK)
		rc = policy_save(command, session, file ? file : path);
	return rc;
}

int cmd_save(const struct command *command)
{
	const char *device = command->target.device;

	if (command->word_count && !strcmp(command->words[0], "-"))
		return wrong("save: - is not a file: `rlctl show` prints the policy");
	if (command->word_count && !*command->words[0])
		return wrong("save: the name of the file is empty: name a file");
	if (command->word_count && device && selection_is_many(device))
		return wrong("save: one file holds the policy of one device: leave out the file");
	if (command->word_count && file_refuse(command->words[0], ""))
		return EXIT_USAGE;
	return sessions_change(command, SESSION_LOOK, save, NULL);
}
