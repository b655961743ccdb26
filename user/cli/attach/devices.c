// SPDX-License-Identifier: GPL-2.0-only
/* Attaches to many devices. All is checked and asked first, for each device. Then processes attach,
 * one for each CPU at a time, because the kernel's verifier takes most of the time; the first
 * device is attached by this process, so that the others inherit the features of the kernel and the
 * clocks that were found. */

#include "cli/attach/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/attach/plan.h"
#include "cli/policy/try.h"
#include "kernel/device/cpus.h"
#include "kernel/state/stats.h"

#define KIND_ERROR '!'
#define KIND_NOTE  '.'

struct one {
	struct device_choice *choice;
	struct plan plans[HOOKS];
	FILE *messages; /* of the process that attaches */
	pid_t pid;
};

/* A message, and on how many devices it was the same but for their names. */
struct heard {
	char kind;
	char *text, *general;
	size_t devices;
};

struct many {
	struct one *items;
	size_t count;
	bool keep;
	struct trials *trials; /* NULL: no trial */
	struct heard *heard;
	size_t heard_count;
};

/* ---- messages */

static FILE *the_messages;

static void message_record(enum message_kind kind, const char *text)
{
	if (kind == MESSAGE_ERROR || kind == MESSAGE_NOTE)
		fprintf(the_messages, "%c%s%c", kind == MESSAGE_ERROR ? KIND_ERROR : KIND_NOTE,
			text, '\0');
}

static const struct message_sink to_record = {.message = message_record};

/* The text with * in place of the device's name. */
static char *text_generalize(const char *text, const char *name)
{
	size_t len = strlen(name), size;
	const char *at;
	char *general = NULL;
	FILE *out = memory_open(&general, &size);

	for (; (at = strstr(text, name)); text = at + len)
		fprintf(out, "%.*s*", (int)(at - text), text);
	fputs(text, out);
	memory_close(out);
	return general;
}

static void message_hear(struct many *many, const struct one *one, const char *record)
{
	char *general = text_generalize(record + 1, one->choice->name);
	struct heard *heard = many->heard;

	for (size_t i = 0; i < many->heard_count; i++) {
		if (heard[i].kind == *record && !strcmp(heard[i].general, general)) {
			heard[i].devices++;
			free(general);
			return;
		}
	}
	heard = xreallocarray(heard, many->heard_count + 1, sizeof(*heard));
	many->heard = heard;
	heard += many->heard_count++;
	*heard = (struct heard){.kind = *record, .general = general, .devices = 1};
	heard->text = xstrdup(record + 1);
}

/* ---- attaching */

static int recorded_attach(struct one *one)
{
	const struct message_sink *sink;
	int rc;

	the_messages = one->messages;
	sink = message_sink_set(&to_record);
	rc = plans_attach(one->plans);
	message_sink_set(sink);
	fflush(one->messages);
	return rc;
}

/* Waits for the process that ends first. */
static int any_end(struct many *many)
{
	int status;
	pid_t pid = wait(&status);

	if (many->trials)
		limiters_gather(many->trials);
	for (size_t i = 0; i < many->count; i++) {
		if (many->items[i].pid != pid)
			continue;
		many->items[i].choice->attached = WIFEXITED(status) && !WEXITSTATUS(status);
		return many->items[i].choice->attached ? 0 : -1;
	}
	return pid < 0 ? -1 : 0;
}

/* From the given one on. */
static int processes_attach(struct many *many, size_t i)
{
	int cpus = cpus_online(), running = 0, rc = 0;

	for (; (!rc || many->keep) && i < many->count && !signals_held(); i++) {
		struct one *one = &many->items[i];

		one->pid = fork();
		if (!one->pid)
			_exit(recorded_attach(one) ? EXIT_FAILURE : EXIT_SUCCESS);
		if (one->pid < 0) {
			rc = fail("%s: %s", one->choice->name, strerror(errno));
		} else if (++running == cpus) {
			rc |= any_end(many);
			running--;
		}
	}
	if (i < many->count && signals_held())
		rc = fail("interrupted");
	while (running--)
		rc |= any_end(many);
	return rc;
}

static int all_attach(struct many *many)
{
	static bool warm; /* this process has attached */
	struct one *first = &many->items[0];
	char *record = NULL;
	size_t size = 0;
	int rc = 0;

	for (size_t i = 0; i < many->count; i++) {
		int fd = memfd_create("messages", MFD_CLOEXEC);

		many->items[i].messages = fd < 0 ? NULL : fdopen(fd, "w+");
		if (!many->items[i].messages && fd >= 0)
			close(fd);
		if (!many->items[i].messages)
			return fail("%s: %s", many->items[i].choice->name, strerror(errno));
	}
	signals_hold(); /* until all are attached, or none */
	if (!warm) {
		rc = recorded_attach(first);
		first->choice->attached = !rc;
	}
	if (!rc || many->keep)
		rc |= processes_attach(many, !warm);
	warm = true;
	for (size_t i = 0; i < many->count; i++) {
		rewind(many->items[i].messages);
		while (getdelim(&record, &size, '\0', many->items[i].messages) > 1)
			message_hear(many, &many->items[i], record);
	}
	free(record);
	for (size_t i = 0; i < many->heard_count; i++) {
		const struct heard *heard = &many->heard[i];

		if (heard->kind == KIND_ERROR)
			fail("%s", heard->text);
		else if (heard->devices > 1)
			note("%s (%zu devices)", heard->text, heard->devices);
		else
			note("%s", heard->text);
	}
	for (size_t i = 0; rc && !many->keep && i < many->count; i++) {
		if (many->items[i].choice->attached)
			plans_detach(many->items[i].plans, HOOKS);
		many->items[i].choice->attached = false;
	}
	if (rc && !many->keep)
		fail("attach: nothing stays attached by this command");
	return rc ? POLICY_REFUSED : 0;
}

/* ---- before and after */

static uint64_t one_memory(const struct one *one)
{
	uint64_t bytes = 0;

	for (int hook = RL_HOOK_XDP; hook < HOOKS; hook++) {
		struct instance_status status;
		struct instance instance;

		if (!one->plans[hook].wanted ||
		    instance_open(&one->plans[hook].target, false, &instance))
			continue;
		if (!instance_status_read(&instance, &status))
			bytes += status.memory_bytes;
		instance_close(&instance);
	}
	return bytes;
}

static void attached_note(const struct many *many)
{
	size_t count = 0, i = 0;
	double mib;

	for (size_t at = many->count; at--;) {
		if (!many->items[at].choice->attached)
			continue;
		i = at;
		count++;
	}
	if (!count)
		return;
	mib = (double)one_memory(&many->items[i]) / (1 << 20);
	if (count == 1)
		note("%s: attached: %.1f MiB", many->items[i].choice->name, mib);
	else
		note("attached to %zu devices: %.1f MiB each, %.0f MiB in all", count, mib,
		     mib * (double)count);
}

/* With `keep`, a device that the policy does not suit is left out. */
static int all_plan(const struct command *command, const struct attach_options *options,
		    struct device_choices *choices, const struct policy_file *file,
		    struct many *many)
{
	struct command one = *command;
	int rc = 0;

	for (size_t i = 0; (!rc || many->keep) && i < choices->count; i++) {
		struct one *item = &many->items[many->count++];

		item->choice = &choices->items[i];
		one.target.device = item->choice->name;
		rc = plans_make(&one, options, item->choice->hooks, file, item->plans);
		if (many->trials)
			plans_try(item->plans, many->trials);
		if (rc && many->keep) {
			plans_clear(item->plans);
			memset(item, 0, sizeof(*item));
			many->count--;
		}
	}
	return rc;
}

int devices_attach(const struct command *command, const struct attach_options *options,
		   struct device_choices *choices, const struct policy_file *file, bool keep,
		   struct trials *trials)
{
	struct many many = {.items = xcalloc(choices->count, sizeof(*many.items)),
			    .keep = keep,
			    .trials = trials};
	int rc;

	rc = all_plan(command, options, choices, file, &many);
	if (many.count && (!rc || keep)) {
		int attached;

		plans_warn(many.items[0].plans);
		attached = all_attach(&many);
		rc = rc ?: attached;
		attached_note(&many);
	}
	for (size_t i = 0; i < many.count; i++) {
		plans_clear(many.items[i].plans);
		if (many.items[i].messages)
			fclose(many.items[i].messages);
	}
	for (size_t i = 0; i < many.heard_count; i++) {
		free(many.heard[i].text);
		free(many.heard[i].general);
	}
	free(many.heard);
	free(many.items);
	return rc;
}
