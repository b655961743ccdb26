// SPDX-License-Identifier: GPL-2.0-only
/* Runs a verb on each instance that -i selects. A change is first checked on all of them, so that
 * an error that can be foreseen changes nothing anywhere.
 */
#include <stdlib.h>

#include "base/signals.h"
#include "cli/cmd.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/selection.h"

struct run {
	const struct command *command;
	targets_fn run;
	void *arg;
	struct places places;
	struct json_object *documents; /* of the instances, with -j */
};

static int run_one(const struct run *run, size_t i, enum phase phase)
{
	struct command one = *run->command;

	one.target = target_of(&one.target, &run->places.items[i]);
	one.phase = phase;
	one.documents = run->documents;
	return run->run(&one, run->arg);
}

/* Calls `each` if the target selects several instances, else run->run(). */
static int run_all(const struct command *command, targets_fn run, void *arg,
		   int (*each)(struct run *run))
{
	struct run all = {.command = command, .run = run, .arg = arg};
	const struct target *target = &command->target;
	int rc;

	if (!target->many || !target->device || !selection_is_many(target->device))
		return run(command, arg);
	rc = places_choose(target, &all.places);
	if (!rc && all.places.many)
		notes_once();
	rc = rc ?: all.places.many ? each(&all) : run(command, arg);
	places_clear(&all.places);
	return rc;
}

/* ---- reading */

/* A comment in the language of policies, so that `apply` reads what `show` prints. */
void heading_print(const char *name, enum rl_hook hook, bool *first)
{
	char *device = text_shown(name);

	printf("%s# %s %s\n", *first ? "" : "\n", device, hook_name(hook));
	*first = false;
	free(device);
}

static int read_all(struct run *run)
{
	bool first = true;
	int rc = 0;

	if (output_json)
		run->documents = json_object_new_array();
	for (size_t i = 0; rc != EXIT_USAGE && i < run->places.count; i++) {
		int one;

		if (!output_json)
			heading_print(run->places.items[i].device, run->places.items[i].hook,
				      &first);
		one = run_one(run, i, PHASE_ALONE);
		rc = one ? one : rc;
	}
	if (output_json && rc != EXIT_USAGE)
		json_print(run->documents);
	return rc;
}

int targets_read(const struct command *command, targets_fn run, void *arg)
{
	return run_all(command, run, arg, read_all);
}

void document_print(const struct command *command, struct json_object *document)
{
	if (command->documents)
		json_append(command->documents, document);
	else if (output_json)
		json_print(document);
	else
		json_object_put(document);
}

/* ---- changing */

/* "; WORDS: eth0, eth1", or nothing if there are none. */
static void names_print(FILE *file, const char *words, const struct places *places, size_t first,
			size_t end)
{
	for (size_t i = first; i < end; i++)
		fprintf(file, "%s%s%s%s", i > first ? ", " : "; ", i > first ? "" : words,
			i > first ? "" : ": ", places->items[i].device);
}

static int check_all(struct run *run)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < run->places.count; i++) {
		rc = run_one(run, i, PHASE_CHECK);
		if (rc)
			fail("%s: refused: nothing was changed on any device",
			     run->places.items[i].device);
	}
	return rc;
}

static int change_all(struct run *run)
{
	const struct places *places = &run->places;
	char *text = NULL;
	size_t size;
	FILE *file;
	int rc = check_all(run);

	if (rc)
		return rc;
	if (output_json)
		run->documents = json_object_new_array();
	signals_hold(); /* until the end: a verb may change other hooks of the same devices next */
	for (size_t i = 0; !rc && i < run->places.count; i++) {
		bool interrupted = signals_held();

		rc = interrupted ? -1 : run_one(run, i, PHASE_CHANGE);
		if (!rc)
			continue;
		/* Which devices are changed and which are not. */
		file = memory_open(&text, &size);
		names_print(file, "already changed", places, 0, i);
		names_print(file, "unchanged", places, interrupted ? i : i + 1, places->count);
		memory_close(file);
		fail("%s%s%s", interrupted ? "" : places->items[i].device,
		     interrupted ? "interrupted" : ": failed", text);
		free(text);
	}
	if (run->documents && json_object_array_length(run->documents))
		json_print(run->documents);
	else
		json_object_put(run->documents);
	return rc;
}

int targets_change(const struct command *command, targets_fn run, void *arg)
{
	return run_all(command, run, arg, change_all);
}

int targets_check(const struct command *command, targets_fn run, void *arg)
{
	return run_all(command, run, arg, check_all);
}
