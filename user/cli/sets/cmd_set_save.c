// SPDX-License-Identifier: GPL-2.0-only
/* rlctl set save, rlctl set restore: members of dynamic sets in a file that outlives a reboot. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "cli/output/stats_output.h"
#include "cli/policy/save_file.h"
#include "cli/sets/set_open.h"
#include "kernel/instance/selection.h"
#include "kernel/scope.h"
#include "kernel/sets/set_state.h"

#define STATE_FOLDER "/var/lib/rlctl"

/* ---- saving */

/* "saved TIME # TAG of OWNER": what stands after `#`; "" if nothing does. */
static void head_read(const char *path, char out[SET_TAG_MAX + OWNER_MAX])
{
	char line[SET_TAG_MAX + OWNER_MAX + 64] = "";
	FILE *file = fopen(path, "re");
	const char *found;

	out[0] = '\0';
	if (!file)
		return;
	found = fgets(line, sizeof(line), file) ? strstr(line, "# ") : NULL;
	fclose(file);
	if (found && !strncmp(line, "saved ", strlen("saved ")))
		snprintf(out, SET_TAG_MAX + OWNER_MAX, "%.*s", (int)strcspn(found + 2, "\n"),
			 found + 2);
}

/* Refuses a file with the members of another instance. 0 or -1; reports. */
static int owner_check(const char *verb, const char *path, const char *owner)
{
	char head[SET_TAG_MAX + OWNER_MAX];
	const char *other;

	head_read(path, head);
	other = strstr(head, " of ");
	if (!other || !strcmp(other + strlen(" of "), owner))
		return 0;
	return fail("%s: it has the members of %s, and this is %s: %s", path,
		    other + strlen(" of "), owner,
		    strcmp(verb, "set save")
			    ? "name it, if they are meant: `rlctl set restore FILE`"
			    : "name another file, or remove this one");
}

/* The writers' lock is held while they are read, and not while they are written. */
static int members_save(const struct command *command, const struct target *target,
			const char *path)
{
	bool is_stdout = !strcmp(path, "-");
	char owner[OWNER_MAX], *text = NULL;
	struct json_object *document;
	struct instance instance;
	size_t size, count;
	int rc = instance_open(target, true, &instance);

	if (rc)
		return rc;
	instance_file_owner(instance.device, instance.info.hook, owner);
	rc = set_state_print(&instance, owner, &text, &size, &count);
	instance_close(&instance);
	if (rc || !text) /* there are no dynamic sets */
		return rc;
	if (is_stdout)
		fwrite(text, 1, size, stdout);
	else
		rc = owner_check("set save", path, owner);
	if (!rc && !is_stdout)
		rc = file_save(path, text, size, NULL, NULL, NULL);
	free(text);
	if (rc || !command || is_stdout)
		return rc;
	text_note("%s: saved %zu member%s to %s", instance.device, count, count == 1 ? "" : "s",
		  path);
	document = json_instance(&instance);
	json_put_text(document, "file", path);
	json_put_number(document, "members", count);
	document_print(command, document);
	return 0;
}

/* To the file by default. Two that save at once do it one after the other: the later members are
 * the ones that stay. */
static int default_save(const struct command *command, const struct target *target,
			const char *path)
{
	char folder[PATH_MAX];
	int fd, rc;

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if ((mkdir(STATE_FOLDER, 0700) && errno != EEXIST) ||
	    (mkdir(folder, 0700) && errno != EEXIST))
		return fail("%s: %s: make this directory, or name a file", folder, strerror(errno));
	fd = open(STATE_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail("%s: %s", STATE_FOLDER, strerror(errno));
	rc = lock_wait(fd, STATE_FOLDER, LOCK_WAIT_MS);
	if (!rc)
		rc = members_save(command, target, path);
	else if (rc != -ETIMEDOUT)
		fail("%s: %s", STATE_FOLDER, strerror(-rc));
	close(fd);
	return rc;
}

static int path_get(const char *verb, const struct target *target, char out[PATH_MAX])
{
	return instance_file_path(verb, STATE_FOLDER, target->device, target->hook, "sets", out);
}

static int save_one(const struct command *command, void *arg)
{
	char path[PATH_MAX];

	(void)arg;
	if (command->word_count)
		return members_save(command, &command->target, command->words[0]);
	return path_get(command->verb->name, &command->target, path)
		       ?: default_save(command, &command->target, path);
}

/* Was the file written when the members were as they are now? */
static bool is_current(const struct target *target, const char *path, int *rc)
{
	char head[SET_TAG_MAX + OWNER_MAX], tag[SET_TAG_MAX], owner[OWNER_MAX];
	struct instance instance;

	*rc = instance_open(target, false, &instance);
	if (*rc)
		return false;
	head_read(path, head);
	instance_file_owner(instance.device, instance.info.hook, owner);
	if (set_tag(&instance, tag))
		tag[0] = '\0';
	instance_close(&instance);
	return tag[0] && !strncmp(head, tag, strlen(tag)) &&
	       !strncmp(head + strlen(tag), " of ", strlen(" of ")) &&
	       !strcmp(head + strlen(tag) + strlen(" of "), owner);
}

int set_save_changed(const struct target *target)
{
	char path[PATH_MAX];
	int rc = path_get("set save", target, path);

	if (!rc && !is_current(target, path, &rc) && !rc)
		rc = default_save(NULL, target, path);
	return rc;
}

/* ---- restoring */

static size_t bad_note(const char *path, const struct member_list *list)
{
	for (size_t i = 0; i < list->bad_count && i < MEMBER_BAD_MAX; i++)
		note("%s:%zu: \"%s\" %s", path, list->bad[i].line, list->bad[i].text,
		     list->bad[i].why);
	return list->bad_count;
}

/* The lock is held for the change alone. */
static int members_restore(const struct command *command, const struct member_state *state)
{
	FREED struct member_result *results = xcalloc(state->count + 1, sizeof(*results));
	struct json_object *document;
	struct instance instance;
	int rc = instance_open(&command->target, true, &instance);

	if (rc)
		return rc;
	rc = set_state_restore(&instance, state, results);
	instance_close(&instance);
	for (size_t i = 0; i < state->count; i++) {
		const struct member_result *result = &results[i];

		text_note("%s: %s: %zu added, %zu extended, %zu present", instance.device,
			  state->sets[i].name, result->added, result->extended, result->present);
		document = json_instance(&instance);
		json_put_text(document, "set", state->sets[i].name);
		json_put_number(document, "added", result->added);
		json_put_number(document, "extended", result->extended);
		json_put_number(document, "present", result->present);
		json_put_number(document, "refused", result->refused);
		document_print(command, document);
	}
	return rc;
}

/* Whole lines are taken; that others are not is an error in the end. */
static int text_restore(const struct command *command, const char *path,
			const struct policy_file *file)
{
	struct member_state state = {0};
	size_t bad;
	int rc;

	if (member_state_parse(file->text, file->size, clock_ns(CLOCK_REALTIME), &state))
		out_of_memory();
	rc = members_restore(command, &state);
	bad = bad_note(path, &state.other);
	for (size_t i = 0; i < state.count; i++)
		bad += bad_note(path, &state.sets[i].list);
	if (bad)
		rc = fail("%s: %zu line%s left out; all others were restored", path, bad,
			  bad == 1 ? "" : "s");
	member_state_clear(&state);
	return rc;
}

static int restore_one(const struct command *command, void *arg)
{
	const struct target *target = &command->target;
	CLEARED_FILE struct policy_file file = {0};
	char path[PATH_MAX], owner[OWNER_MAX];
	const char *from = command->word_count ? command->words[0] : path;
	bool is_stdin;
	int fd, rc = 0;

	(void)arg;
	if (!command->word_count) {
		instance_file_owner(target->device, target->hook, owner);
		rc = path_get(command->verb->name, target, path)
			     ?: owner_check(command->verb->name, path, owner);
	}
	if (rc)
		return rc;
	is_stdin = !strcmp(from, "-");
	fd = is_stdin ? STDIN_FILENO : open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !command->word_count) { /* a first boot */
		note("%s: nothing is saved in %s", target->device, from);
		return 0;
	}
	if (fd < 0)
		return fail("%s: %s", from, strerror(errno));
	rc = policy_descriptor_read(fd, from, &file);
	if (!is_stdin)
		close(fd);
	return rc ?: text_restore(command, from, &file);
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
