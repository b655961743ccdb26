// SPDX-License-Identifier: GPL-2.0-only
/* rlctl set save, rlctl set restore: members of dynamic sets in a file that outlives a reboot. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "cmd.h"
#include "hook_names.h"
#include "message.h"
#include "open.h"
#include "output.h"
#include "save_file.h"
#include "selection.h"
#include "set_each.h"
#include "set_state.h"
#include "stats_output.h"

#define STATE_FOLDER "/var/lib/rlctl"

static char *path_default(const struct instance *instance)
{
	enum rl_hook hook = instance->info.hook;
	char *path = NULL;

	if (asprintf(&path, STATE_FOLDER "/%s%s%s.sets", instance->device,
		     hook == RL_HOOK_XDP ? "" : ".",
		     hook == RL_HOOK_XDP ? "" : hook_name(hook)) < 0)
		out_of_memory();
	return path;
}

static char *path_of(const struct command *command, const struct instance *instance)
{
	char *path = command->word_count ? strdup(command->words[0]) : path_default(instance);

	if (!path)
		out_of_memory();
	return path;
}

/* ---- saving */

static bool no_backup(const char *text, size_t size, const void *arg)
{
	(void)text;
	(void)size;
	(void)arg;
	return false;
}

static int text_save(const char *path, const char *text, size_t size)
{
	bool backup;

	if (!strncmp(path, STATE_FOLDER "/", sizeof(STATE_FOLDER)) && mkdir(STATE_FOLDER, 0700) &&
	    errno != EEXIST)
		return fail("%s: %s: make this directory, or name a file", STATE_FOLDER,
			    strerror(errno));
	return file_save(path, text, size, no_backup, NULL, &backup);
}

/* Was the file written when the members were as they are now? */
static bool is_current(const struct instance *instance, const char *path)
{
	char line[128] = "", tag[SET_TAG_MAX];
	FILE *file = fopen(path, "re");
	char *found;

	if (!file)
		return false;
	found = fgets(line, sizeof(line), file) ? strstr(line, "# ") : NULL;
	fclose(file);
	if (!found || set_tag(instance, tag) || !tag[0])
		return false;
	return !strncmp(found + 2, tag, strlen(tag)) && found[2 + strlen(tag)] == '\n';
}

static void saved_print(const struct command *command, const struct instance *instance,
			const char *path, size_t members)
{
	struct json_object *document;

	if (!output_json) {
		note("%s: saved %zu member%s to %s", instance->device, members,
		     members == 1 ? "" : "s", path);
		return;
	}
	document = json_instance(instance);
	json_put(document, "file", json_object_new_string(path));
	json_put(document, "members", json_object_new_uint64(members));
	document_print(command, document);
}

static int instance_save(const struct command *command, const struct instance *instance,
			 const char *path)
{
	size_t size, members;
	char *text;
	int rc = set_state_print(instance, &text, &size, &members);

	if (rc || !text)
		return rc;
	if (!strcmp(path, "-"))
		fwrite(text, 1, size, stdout);
	else
		rc = text_save(path, text, size);
	if (!rc && command && strcmp(path, "-") != 0)
		saved_print(command, instance, path, members);
	free(text);
	return rc;
}

/* Under the writers' lock, so that the members are those of one moment. */
static int save_one(const struct command *command, void *arg)
{
	struct instance instance;
	int rc = instance_open(&command->target, true, &instance);
	char *path;

	(void)arg;
	if (rc)
		return rc;
	path = path_of(command, &instance);
	rc = instance_save(command, &instance, path);
	free(path);
	instance_close(&instance);
	return rc;
}

int set_save_changed(const struct target *target)
{
	struct instance instance;
	int rc = instance_open(target, true, &instance);
	char *path;

	if (rc)
		return rc;
	path = path_default(&instance);
	if (!is_current(&instance, path))
		rc = instance_save(NULL, &instance, path);
	free(path);
	instance_close(&instance);
	return rc;
}

/* ---- restoring */

struct restoring {
	const struct command *command;
	const struct instance *instance;
};

static void restored_print(const char *set, const struct member_result *result, void *arg)
{
	const struct restoring *restoring = arg;
	struct json_object *document;

	if (!output_json) {
		note("%s: %s: %zu added, %zu extended, %zu present", restoring->instance->device,
		     set, result->added, result->extended, result->present);
		return;
	}
	document = json_instance(restoring->instance);
	json_put(document, "set", json_object_new_string(set));
	json_put(document, "added", json_object_new_uint64(result->added));
	json_put(document, "extended", json_object_new_uint64(result->extended));
	json_put(document, "present", json_object_new_uint64(result->present));
	json_put(document, "refused", json_object_new_uint64(result->refused));
	document_print(restoring->command, document);
}

static size_t bad_note(const char *path, const struct member_list *list)
{
	for (size_t i = 0; i < list->bad_count && i < MEMBER_BAD_MAX; i++)
		note("%s:%zu: \"%s\" %s", path, list->bad[i].line, list->bad[i].text,
		     list->bad[i].why);
	return list->bad_count;
}

/* Whole lines are taken; that others are not is an error in the end. */
static int bad_report(const char *path, const struct member_state *state)
{
	size_t bad = bad_note(path, &state->other);

	for (size_t i = 0; i < state->count; i++)
		bad += bad_note(path, &state->sets[i].list);
	if (!bad)
		return 0;
	return fail("%s: %zu line%s left out; all others were restored", path, bad,
		    bad == 1 ? "" : "s");
}

static int text_restore(const struct command *command, struct instance *instance, const char *path,
			const struct policy_file *file)
{
	struct restoring restoring = {command, instance};
	struct member_state state = {0};
	int rc;

	if (member_state_parse(file->text, file->size, clock_ns(CLOCK_REALTIME), &state))
		out_of_memory();
	rc = set_state_restore(instance, &state, restored_print, &restoring);
	if (bad_report(path, &state))
		rc = -1;
	member_state_clear(&state);
	return rc;
}

/* No file by default is a first boot. 0, 1 (there is none) or -1; reports. */
static int file_get(const struct command *command, const char *path, struct policy_file *out)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0 && errno == ENOENT && !command->word_count)
		return 1;
	if (fd < 0)
		return fail("%s: %s", path, strerror(errno));
	rc = policy_descriptor_read(fd, path, out);
	if (!is_stdin)
		close(fd);
	return rc;
}

static int restore_one(const struct command *command, void *arg)
{
	struct policy_file file = {0};
	struct instance instance;
	char *path;
	int rc;

	(void)arg;
	rc = instance_open(&command->target, true, &instance);
	if (rc)
		return rc;
	path = path_of(command, &instance);
	rc = file_get(command, path, &file);
	if (rc == 1) {
		note("%s: nothing is saved in %s", instance.device, path);
		rc = 0;
	} else if (!rc) {
		rc = text_restore(command, &instance, path, &file);
	}
	policy_file_clear(&file);
	free(path);
	instance_close(&instance);
	return rc;
}

/* ---- the verbs */

/* A file is of one instance: of the one that -i names, or the only one. */
static int file_run(const struct command *command, int (*run)(const struct command *one, void *arg))
{
	const char *device = command->target.device;
	struct command one = *command;

	if (!command->word_count)
		return set_each(command, run, NULL);
	if (device && selection_is_many(device))
		return wrong("%s: one file holds the sets of one device: leave out the file",
			     command->verb->name);
	one.target.many = false;
	return run(&one, NULL);
}

int cmd_set_save(const struct command *command)
{
	return file_run(command, save_one);
}

int cmd_set_restore(const struct command *command)
{
	return file_run(command, restore_one);
}
