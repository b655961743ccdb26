// SPDX-License-Identifier: GPL-2.0-only
/* The devices of this namespace that the words of attach select. */

#include <stdlib.h>
#include <string.h>

#include "cli/attach/devices.h"
#include "kernel/device/device.h"
#include "kernel/instance/selection.h"
#include "kernel/failures.h"

/* One part of the list. */
struct part {
	const struct command *command;
	const char *words;
	size_t len;
	unsigned int hooks;
	size_t matches;
	struct device_choices *out;
};

bool devices_are_many(const struct command *command)
{
	const char *words = command->target.device;

	return selection_is_many(words) && device_index(words) < 0;
}

void devices_clear(struct device_choices *choices)
{
	free(choices->items);
	*choices = (struct device_choices){0};
}

static void choice_put(struct device_choices *choices, const char *name, unsigned int hooks)
{
	struct device_choice *items = choices->items;

	for (size_t i = 0; i < choices->count; i++)
		if (!strcmp(items[i].name, name))
			return;
	items = xreallocarray(items, choices->count + 1, sizeof(*items));
	choices->items = items;
	items += choices->count++;
	*items = (struct device_choice){.hooks = hooks};
	memcpy(items->name, name, strlen(name)); /* shorter than IF_NAMESIZE: it is a device's */
}

/* A pattern leaves out what is attached. */
static int device_match(const char *name, void *arg)
{
	struct part *part = arg;
	struct target target = {.bpffs = part->command->target.bpffs, .device = name, .hook = -1};
	unsigned int there = 0;

	if (!selection_part_matches(part->words, part->len, name))
		return 0;
	part->matches++;
	if (!option_given(part->command, OPTION_OR_APPLY) && instance_hooks(&target, &there))
		return -1;
	if (part->hooks & ~there)
		choice_put(part->out, name, part->hooks & ~there);
	else
		part->out->attached++;
	return 0;
}

int devices_choose(const struct command *command, unsigned int hooks, struct device_choices *out)
{
	bool follows = option_given(command, OPTION_FOLLOW);
	struct part part = {.command = command, .hooks = hooks, .out = out};
	int rc = 0;

	*out = (struct device_choices){0};
	for (const char *words = command->target.device; !rc; words += part.len + 1) {
		char name[IF_NAMESIZE] = {0};

		part.words = words;
		part.len = selection_part(words);
		part.matches = 0;
		if (part.len && part.len < sizeof(name))
			memcpy(name, words, part.len);
		if (selection_is_pattern(words, part.len)) {
			rc = device_for_each(device_match, &part);
			if (rc < -1)
				rc = fail("listing the devices failed: %s", strerror(-rc));
			else if (!rc && !part.matches && !follows)
				rc = fail("%.*s: no device matches: `ip link` lists the devices",
					  (int)part.len, words);
		} else if (device_index(name) >= 0) {
			choice_put(out, name, hooks);
		} else if (!follows) {
			rc = report_no_device(name);
		}
		if (!words[part.len])
			break;
	}
	if (rc)
		devices_clear(out);
	return rc;
}
