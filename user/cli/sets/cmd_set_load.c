// SPDX-License-Identifier: GPL-2.0-only
/* rlctl set load: loads the files and databases of sets. With --due it does what has to be done
 * from time to time: it loads what has changed, removes what has expired, and saves what would be
 * lost.
 */
#include <string.h>

#include "cli/sets/set_parts.h"
#include "kernel/attach/hook_names.h"
#include "kernel/sets/set_load.h"
#include "kernel/sets/set_state.h"

#define NAMES_MAX 64

struct loads {
	const struct command *one;
	uint64_t found;
};

static void loaded_print(const struct rl_set_words *words, const struct member_list *list,
			 const struct member_result *result, bool failed, void *arg)
{
	const struct loads *loads = arg;
	const struct command *one = loads->one;
	size_t left_out = list->bad_count + list->wide_count;
	struct json_object *document = json_object_new_object();
	char out[48] = "";

	if (left_out)
		snprintf(out, sizeof(out), ", %zu line%s left out", left_out,
			 left_out == 1 ? "" : "s");
	if (!failed && !output_quiet)
		text_print("%s %s: %s: %zu members from %s%s\n", one->target.device,
			   hook_name(one->target.hook), words->name, list->count, words->path, out);
	json_put_text(document, "device", one->target.device);
	json_put_text(document, "hook", hook_name(one->target.hook));
	json_put_text(document, "set", words->name);
	json_put_text(document, "file", words->path);
	json_put_bool(document, "loaded", !failed);
	json_put_number(document, "added", result->added);
	json_put_number(document, "left_out", left_out);
	json_put_number(document, "guarded", list->guarded);
	json_put_number(document, "host_bits", list->host_bits);
	document_print(one, document);
}

static int load_one(const struct command *one, void *arg)
{
	struct loads *loads = arg;
	bool due = option_given(one, OPTION_DUE);
	struct instance instance;
	struct set_load load = {
		.target = &one->target,
		.when = due ? SET_LOAD_DUE : SET_LOAD_NOW,
		.names = one->words,
		.name_count = one->word_count,
		.accepts = option_given(one, OPTION_YES),
		.guard = set_load_guard,
		.tell = loaded_print,
		.arg = loads,
	};
	int rc;

	loads->one = one;
	rc = sets_load(&load);
	loads->found |= load.found;
	if (!due)
		return rc;
	if (instance_open(&one->target, true, &instance)) {
		rc = -1;
	} else {
		if (sets_sweep(&instance)) /* removes what has expired */
			rc = -1;
		instance_close(&instance);
	}
	return set_save_changed(&one->target) ? -1 : rc;
}

int cmd_set_load(const struct command *command)
{
	struct loads loads = {0};
	int rc;

	if (command->word_count > NAMES_MAX)
		return wrong("set load: more than %d names: leave them out to load all sets",
			     NAMES_MAX);
	rc = set_each(command, load_one, &loads);
	for (int i = 0; !rc && i < command->word_count; i++)
		if (!(loads.found >> i & 1))
			rc = fail("no policy has a set %s: `rlctl set list` shows them",
				  command->words[i]);
	return rc;
}

void sets_load_new(const struct target *target)
{
	struct set_load load = {
		.target = target, .when = SET_LOAD_CHANGED, .warns = true, .guard = set_load_guard};

	sets_load(&load);
}
