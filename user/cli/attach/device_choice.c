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
	items = reallocarray(items, choices->count + 1, sizeof(*items));
	if (!items)
		out_of_memory();
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

static int pattern_add(struct part *part)
{
	int ret = device_for_each(device_match, part);

	if (ret < -1)
		return fail("listing the devices failed: %s", strerror(-ret));
	if (!ret && !part->matches && !option_given(part->command, OPTION_FOLLOW))
		return fail("%.*s: no device matches: `ip link` lists the devices", (int)part->len,
			    part->words);
	return ret;
}

static int name_add(const struct part *part)
{
	char name[IF_NAMESIZE] = {0};

	if (part->len && part->len < sizeof(name))
		memcpy(name, part->words, part->len);
	if (device_index(name) < 0)
		return option_given(part->command, OPTION_FOLLOW) ? 0 : report_no_device(name);
	choice_put(part->out, name, part->hooks);
	return 0;
}

int devices_choose(const struct command *command, unsigned int hooks, struct device_choices *out)
{
	const char *words = command->target.device;
	int rc = 0;

	*out = (struct device_choices){0};
	while (!rc) {
		struct part part = {.command = command,
				    .words = words,
				    .len = selection_part(words),
				    .hooks = hooks,
				    .out = out};

		rc = selection_is_pattern(words, part.len) ? pattern_add(&part) : name_add(&part);
		if (!words[part.len])
			break;
		words += part.len + 1;
	}
	if (rc)
		devices_clear(out);
	return rc;
}
