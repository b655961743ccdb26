// SPDX-License-Identifier: GPL-2.0-only
/* Chooses the instances that a target names. Stale pins do not count while another instance that
 * matches is attached. */

#include "kernel/instance/choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/instance/hooks.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/rename.h"
#include "kernel/instance/selection.h"
#include "kernel/report.h"

#define NAMES_MAX 512 /* bytes of device names in a message */

/* ---- the pins */

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* An instance whose device has exactly the name of the selection: it is that device. */
static bool names_device(const struct target *target, const struct pin_list *list)
{
	char device[IF_NAMESIZE];
	enum rl_hook hook;

	for (int i = 0; i < list->count; i++)
		if (pins_name_split(list->entries[i]->d_name, device, &hook) &&
		    !strcmp(device, target->device))
			return true;
	return false;
}

int pins_list(const struct target *target, struct pin_list *out)
{
	int folder, ret = pins_root_follow(target->bpffs, false, out->root);

	if (ret)
		return ret;
	folder = ret = pins_folder_open(out->root);
	if (folder >= 0) {
		out->count = scandirat(folder, ".", &out->entries, is_visible, alphasort);
		ret = out->count < 0 ? -errno : 0;
		close(folder);
	}
	if (ret && ret != -ENOENT) {
		fail("%s: %s%s", out->root, strerror(-ret), pins_error_hint(ret));
		return ret;
	}
	out->many = target->many && target->device && selection_is_many(target->device) &&
		    !names_device(target, out);
	return 0;
}

void pins_list_clear(struct pin_list *list)
{
	for (int i = 0; i < list->count; i++)
		free(list->entries[i]);
	if (list->count >= 0)
		free(list->entries);
}

static bool device_matches(const struct target *target, bool many, const char *device)
{
	if (!target->device)
		return true;
	return many ? selection_matches(target->device, device) : !strcmp(target->device, device);
}

bool pins_match(const struct target *target, const struct pin_list *list, const char *name,
		char device[IF_NAMESIZE], enum rl_hook *hook)
{
	return pins_name_split(name, device, hook) && device_matches(target, list->many, device) &&
	       (target->hook < 0 || target->hook == (int)*hook);
}

/* ---- places: one for each device */

static struct place *place_of(struct places *places, const char *device)
{
	struct place *items;

	for (size_t i = 0; i < places->count; i++)
		if (!strcmp(places->items[i].device, device))
			return &places->items[i];
	items = reallocarray(places->items, places->count + 1, sizeof(*items));
	if (!items)
		return NULL;
	places->items = items;
	items[places->count] = (struct place){0};
	snprintf(items[places->count].device, IF_NAMESIZE, "%s", device);
	return &items[places->count++];
}

static int places_list(const struct target *target, const struct pin_list *list, struct places *out)
{
	char device[IF_NAMESIZE];
	enum rl_hook hook;

	for (int i = 0; i < list->count; i++) {
		struct place *place;

		if (!pins_match(target, list, list->entries[i]->d_name, device, &hook))
			continue;
		place = place_of(out, device);
		if (!place)
			return -ENOMEM;
		place->hooks |= 1u << hook;
	}
	return 0;
}

/* The hooks that have an attached instance. */
static unsigned int hooks_attached(const char *root, const struct place *place)
{
	unsigned int attached = 0;

	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++)
		if (place->hooks & 1u << hook && instance_is_attached(root, place->device, hook))
			attached |= 1u << hook;
	return attached;
}

/* Keeps what is attached. False, and all stay, if nothing is. */
static bool places_keep_attached(const char *root, struct places *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->count; i++) {
		struct place place = places->items[i];

		place.hooks = hooks_attached(root, &place);
		if (!place.hooks)
			continue;
		places->items[i] = places->items[kept]; /* if nothing is attached, all stay */
		places->items[kept++] = place;
	}
	if (kept)
		places->count = kept;
	return kept;
}

/* Is there only one instance? Then it need not be checked. */
static bool is_alone(const struct places *places)
{
	return places->count == 1 && !(places->items[0].hooks & (places->items[0].hooks - 1));
}

/* The names of the devices: "eth0, eth1". */
static void names_print(const struct places *places, char out[NAMES_MAX])
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < places->count && used < NAMES_MAX - IF_NAMESIZE - 8; i++)
		used += snprintf(out + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
				 places->items[i].device);
	if (used >= NAMES_MAX - IF_NAMESIZE - 8)
		snprintf(out + used, NAMES_MAX - used, ", ...");
}

/* ---- selections that match nothing */

static int report_part(const struct pin_list *list, const char *part, size_t len)
{
	const struct target any = {.hook = -1};
	struct places attached = {0};
	char names[NAMES_MAX] = "";

	if (!places_list(&any, list, &attached) && places_keep_attached(list->root, &attached))
		names_print(&attached, names);
	places_clear(&attached);
	if (*names)
		fail("no attached device matches '%.*s': attached are %s", (int)len, part, names);
	else
		fail("no attached device matches '%.*s': nothing attached: `rlctl attach DEV`",
		     (int)len, part);
	return -ENOENT;
}

/* A device without an attached instance: never attached, or its program is gone. */
static int report_name(const struct target *target, const struct pin_list *list, const char *part,
		       size_t len)
{
	struct pin_list one = {.entries = list->entries, .count = list->count};
	char device[IF_NAMESIZE];
	const struct target named = {.device = device, .hook = target->hook};
	enum rl_hook hook = target->hook < 0 ? RL_HOOK_XDP : target->hook;
	struct places pinned = {0};
	int ret;

	snprintf(device, sizeof(device), "%.*s", (int)len, part);
	ret = places_list(&named, &one, &pinned);
	if (!ret && pinned.count) {
		hook = __builtin_ctz(pinned.items[0].hooks);
		ret = -ESTALE;
	}
	places_clear(&pinned);
	return report_open_error(device, hook, ret ? ret : -ENOENT);
}

static bool part_matches_any(const struct places *places, const char *part, size_t len)
{
	for (size_t i = 0; i < places->count; i++)
		if (selection_part_matches(part, len, places->items[i].device))
			return true;
	return false;
}

/* Reports the parts of the selection that match none of the places. */
static int parts_check(const struct target *target, const struct pin_list *list,
		       const struct places *places)
{
	const char *part = target->device;
	int ret = 0;

	for (;;) {
		size_t len = selection_part(part);

		if (part_matches_any(places, part, len)) {
			;
		} else if (!len) {
			fail("'%s': empty name: leave the comma out", target->device);
			ret = -ENOENT;
		} else if (selection_is_pattern(part, len)) {
			ret = report_part(list, part, len);
		} else {
			ret = report_name(target, list, part, len);
		}
		if (!part[len])
			return ret;
		part += len + 1;
	}
}

int selection_check(const struct target *target, const struct pin_list *list)
{
	struct places places = {0};
	int ret = list->many ? places_list(target, list, &places) : 0;

	if (list->many && !ret) {
		if (!places_keep_attached(list->root, &places))
			places.count = 0;
		ret = parts_check(target, list, &places);
	}
	places_clear(&places);
	return ret;
}

/* ---- the choice */

static int hooks_settle(struct places *places, bool attached)
{
	for (size_t i = 0; i < places->count; i++) {
		struct place *place = &places->items[i];
		int hook = hook_meant(place->hooks);

		if (hook < 0 && attached)
			return report_hooks(place->device);
		place->hook = hook < 0 ? __builtin_ctz(place->hooks) : hook;
	}
	return 0;
}

static int one_check(const struct target *target, struct places *places, bool attached)
{
	char names[NAMES_MAX];

	if (!places->count && target->device)
		return report_open_error(target->device, target->hook < 0 ? 0 : target->hook,
					 -ENOENT);
	if (!places->count) {
		fail("nothing attached: `rlctl attach DEV`");
		return -ENOENT;
	}
	if (places->count > 1 && attached) {
		names_print(places, names);
		fail("several instances, on %s: choose one with -i DEV%s", names,
		     target->many ? ", or all with -i all" : "");
		return -ENOTUNIQ;
	}
	places->count = 1;
	return 0;
}

static int choose(const struct target *target, const struct pin_list *list, struct places *out)
{
	int ret = places_list(target, list, out);
	bool attached;

	if (ret)
		return ret;
	out->many = list->many;
	attached = (!out->many && is_alone(out)) || places_keep_attached(list->root, out);
	if (out->many && !attached)
		out->count = 0;
	ret = out->many ? parts_check(target, list, out) : one_check(target, out, attached);
	return ret ? ret : hooks_settle(out, attached);
}

int places_choose(const struct target *target, struct places *out)
{
	struct places places = {0};
	struct pin_list list = {0};
	int ret = pins_list(target, &list);

	if (!ret)
		ret = choose(target, &list, &places);
	pins_list_clear(&list);
	if (ret)
		places_clear(&places);
	else
		*out = places;
	return ret;
}

void places_clear(struct places *places)
{
	free(places->items);
	*places = (struct places){0};
}
