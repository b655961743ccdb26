// SPDX-License-Identifier: GPL-2.0-only
/* Opens a set of an instance, by its name. */
#include "cli/sets/set_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "kernel/instance/selection.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/set_load.h"
#include "policy/named.h"
#include "policy/sets/set.h"

#define NAMES_MAX 400 /* bytes of names in a message */

int set_name_check(const char *name)
{
	if (name[0] == '@' && name_is_valid(name + 1))
		return wrong("'%s': the name of a set stands without @ here: write %s", name,
			     name + 1);
	if (name_is_valid(name))
		return 0;
	return wrong("invalid set name '%s': use a lowercase letter, then up to 30 of a-z, 0-9, - "
		     "and _",
		     name);
}

/* ---- unknown sets */

static int report_unknown(const char *device, const char *name,
			  const struct rl_set sets[RL_SETS_MAX])
{
	struct hint hint = {.word = name};
	char names[NAMES_MAX] = "";
	size_t used = 0;

	for (int i = 0; i < RL_SETS_MAX; i++)
		hint_offer(&hint, sets[i].name);
	for (int i = 0; i < RL_SETS_MAX; i++) { /* "a, b, c" */
		if (!sets[i].name[0])
			continue;
		if (used + RL_SET_NAME_MAX + 8 > NAMES_MAX) {
			snprintf(names + used, NAMES_MAX - used, ", ...");
			break;
		}
		used += snprintf(names + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
				 sets[i].name);
	}
	if (hint.best)
		fail("%s: no set '%s' (did you mean %s?)", device, name, hint.best);
	else if (names[0])
		fail("%s: no set '%s': its sets are %s; a line \"set %s\" in the policy makes one",
		     device, name, names, name);
	else
		fail("%s: no set '%s': its policy has no sets; a line \"set %s\" in it makes one",
		     device, name, name);
	return -ENOENT;
}

/* ---- which instances */

void set_targets_clear(struct set_targets *targets)
{
	free(targets->items);
	places_clear(&targets->places);
	*targets = (struct set_targets){0};
}

static int has_set(const struct target *target, const char *name, struct rl_set all[RL_SETS_MAX])
{
	struct rl_set sets[RL_SETS_MAX];
	struct instance instance;
	int rc = instance_open_sets(target, false, &instance), found = 0;

	if (rc)
		return rc;
	rc = sets_read(&instance, sets);
	if (rc)
		report_read_error(&instance, rc);
	for (int i = 0; !rc && i < RL_SETS_MAX; i++) {
		found |= !strcmp(sets[i].name, name);
		if (sets[i].name[0])
			memcpy(&all[i], &sets[i], sizeof(all[i]));
	}
	instance_close(&instance);
	return rc ?: found;
}

/* Keeps those that have the set. */
static int targets_keep(struct set_targets *targets, const char *name)
{
	struct rl_set all[RL_SETS_MAX] = {0};
	size_t kept = 0;

	for (size_t i = 0; i < targets->count; i++) {
		int rc = has_set(&targets->items[i], name, all);

		if (rc < 0)
			return rc;
		if (rc)
			targets->items[kept++] = targets->items[i];
	}
	if (!kept)
		return report_unknown("every attached device", name, all);
	targets->count = kept;
	return 0;
}

int set_targets_choose(const struct command *command, const char *name, struct set_targets *out)
{
	struct target target = command->target;
	bool by_name = false; /* are there several devices with pins? */
	struct places places;
	int rc = 0;

	if (!target.device) {
		by_name =
			!places_list(&target, &places) && places.count &&
			strcmp(places.items[0].device, places.items[places.count - 1].device) != 0;
		places_clear(&places);
	}
	*out = (struct set_targets){.count = 1};
	if (by_name)
		target.device = SELECTION_ALL;
	target.many = target.device && selection_is_many(target.device);
	if (target.many) {
		rc = places_choose(&target, &out->places);
		if (rc)
			return rc;
		out->count = out->places.count;
	}
	out->items = xcalloc(out->count, sizeof(*out->items));
	out->items[0] = target;
	for (size_t i = 0; i < out->places.count; i++)
		out->items[i] = target_of(&target, &out->places.items[i]);
	if (by_name && name)
		rc = targets_keep(out, name);
	out->many = (out->places.many && !by_name) || out->count > 1;
	if (rc)
		set_targets_clear(out);
	return rc;
}

void set_names_offer(const struct target *target, void (*offer)(void *arg, const char *name),
		     void *arg)
{
	struct rl_set sets[RL_SETS_MAX];
	struct instance instance;

	if (instance_open_sets(target, false, &instance))
		return;
	if (!sets_read(&instance, sets))
		for (int i = 0; i < RL_SETS_MAX; i++)
			if (sets[i].name[0])
				offer(arg, sets[i].name);
	instance_close(&instance);
}

/* ---- opening */

int set_words_read(const struct instance *instance, struct rl_set_words out[RL_SETS_MAX])
{
	int rc = sets_words_read(instance, out);

	if (rc)
		report_read_error(instance, rc);
	return rc;
}

int set_use_open(const struct target *target, const char *name, bool writes, struct set_use *out)
{
	static const struct rl_set none[RL_SETS_MAX];
	struct rl_set_words *words;
	int rc = instance_open_sets(target, writes, &out->instance), set;

	if (rc)
		return rc;
	rc = set_session_open(&out->instance, writes, &out->session);
	if (rc == -ENOENT)
		report_unknown(out->instance.device, name, none);
	if (rc) {
		instance_close(&out->instance);
		return rc;
	}
	set = set_session_find(&out->session, name);
	if (set < 0) {
		report_unknown(out->instance.device, name, out->session.sets);
		set_use_close(out);
		return set;
	}
	out->set = set;
	words = xcalloc(RL_SETS_MAX, sizeof(*words));
	rc = set_words_read(&out->instance, words);
	if (rc)
		set_use_close(out);
	else
		out->words = words[out->set];
	free(words);
	return rc;
}

int set_use_close(struct set_use *use)
{
	int rc = set_session_close(&use->session);

	instance_close(&use->instance);
	return rc;
}

/* ---- every instance, one after the other, also after an error */

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
