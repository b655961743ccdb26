// SPDX-License-Identifier: GPL-2.0-only
/* Verbs of sets that act on every instance they may mean: one after the other, also after an error.
 */
#include "cli/sets/set_each.h"

#include <string.h>

struct each {
	const struct command *command;
	int (*run)(const struct command *one, void *arg);
	void *arg;
	struct json_object *documents;
	size_t count;
	int rc;
};

static int visit(struct instance *instance, void *arg)
{
	struct each *each = arg;
	struct command one = *each->command;
	int rc;

	one.target.device = instance->device;
	one.target.hook = instance->info.hook;
	one.target.many = false;
	one.documents = each->documents;
	each->count++;
	rc = each->run(&one, each->arg);
	each->rc = rc ?: each->rc;
	return 0;
}

int set_each(const struct command *command, int (*run)(const struct command *one, void *arg),
	     void *arg)
{
	struct each each = {.command = command, .run = run, .arg = arg};
	struct target target = command->target;
	int rc;

	/* All of none is no error: a timer runs before anything is attached. */
	if (target.device && !strcmp(target.device, "all"))
		target.device = NULL;
	if (output_json)
		each.documents = json_object_new_array();
	rc = instance_for_each(&target, visit, &each);
	if (!rc && !each.count)
		rc = nothing_attached(&target);
	rc = rc ?: each.rc;
	if (output_json && (!rc || json_object_array_length(each.documents)))
		json_print(each.documents);
	else
		json_object_put(each.documents);
	return rc;
}
