// SPDX-License-Identifier: GPL-2.0-only
/* Lists the instances that have pins, chooses those that a target names, and opens them. Stale pins
 * do not count while another instance that matches is attached. */

#include "kernel/instance/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/program.h"
#include "kernel/failures.h"
#include "kernel/instance/find.h"
#include "kernel/instance/selection.h"
#include "kernel/scope.h"

#define NAMES_MAX 512 /* bytes of device names in a message */

/* ---- the list */

static int pinned_compare(const void *a, const void *b)
{
	const struct pinned *x = a, *y = b;
	int order = strcmp(x->device, y->device);

	return order ? order : strcmp(hook_name(x->hook), hook_name(y->hook));
}

/* Keeps what the target selects. An instance whose device has exactly the name of a selection: it
 * is that device. */
static void places_select(const struct target *target, struct places *places)
{
	const char *device = target->device;
	size_t kept = 0;

	places->many = target->many && device && selection_is_many(device);
	for (size_t i = 0; places->many && i < places->count; i++)
		places->many = strcmp(places->items[i].device, device) != 0;
	for (size_t i = 0; i < places->count; i++) {
		const struct pinned *place = &places->items[i];

		if ((target->hook < 0 || target->hook == (int)place->hook) &&
		    (!device || (places->many ? selection_matches(device, place->device)
					      : !strcmp(device, place->device))))
			places->items[kept++] = *place;
	}
	places->count = kept;
}

int places_list(const struct target *target, struct places *out)
{
	char root[INSTANCE_PATH_MAX];
	int ret = pins_root_follow(target->bpffs, false, root);
	CLOSED_DIR DIR *dir = NULL;
	struct pinned next, *items;

	*out = (struct places){0};
	if (ret)
		return ret;
	ret = pins_dir_open(root, &dir);
	while (!ret && pins_next(dir, root, &next)) {
		items = reallocarray(out->items, out->count + 1, sizeof(*items));
		ret = items ? 0 : -ENOMEM;
		if (!items)
			break;
		out->items = items;
		items[out->count++] = next;
	}
	if (ret && ret != -ENOENT) {
		fail("%s: %s%s", root, strerror(-ret), pins_error_hint(ret));
		places_clear(out);
		return ret;
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), pinned_compare);
	places_select(target, out);
	return 0;
}

void places_clear(struct places *places)
{
	free(places->items);
	*places = (struct places){0};
}

/* Keeps what is attached. False, and all stay, if nothing is. */
static bool places_keep_attached(struct places *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->count; i++)
		if (instance_is_attached(places->items[i].path, places->items[i].device,
					 places->items[i].hook))
			places->items[kept++] = places->items[i];
	if (kept)
		places->count = kept;
	return kept;
}

/* The hooks of instances of one device, as bits. */
static unsigned int hooks_of(const struct places *places)
{
	unsigned int hooks = 0;

	for (size_t i = 0; i < places->count; i++)
		hooks |= 1u << places->items[i].hook;
	return hooks;
}

int instance_hooks(const struct target *target, unsigned int *out)
{
	struct places places;
	int ret = places_list(target, &places);

	if (ret)
		return ret;
	places_keep_attached(&places);
	*out = hooks_of(&places);
	places_clear(&places);
	return 0;
}

int hook_meant(unsigned int hooks)
{
	if (hooks & 1u << RL_HOOK_XDP)
		return RL_HOOK_XDP;
	return hooks && !(hooks & (hooks - 1)) ? __builtin_ctz(hooks) : -1;
}

/* ---- selections that match nothing */

/* The names of the devices: "eth0, eth1". */
static void names_print(const struct places *places, char out[NAMES_MAX])
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < places->count && used < NAMES_MAX - IF_NAMESIZE - 8; i++)
		if (!i || strcmp(places->items[i].device, places->items[i - 1].device) != 0)
			used += snprintf(out + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
					 places->items[i].device);
	if (used >= NAMES_MAX - IF_NAMESIZE - 8)
		snprintf(out + used, NAMES_MAX - used, ", ...");
}

static int report_part(const char *bpffs, const char *part, size_t len)
{
	const struct target any = {.bpffs = bpffs, .hook = -1};
	struct places attached;
	char names[NAMES_MAX] = "";

	if (!places_list(&any, &attached) && places_keep_attached(&attached))
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
static int report_name(const struct target *target, const char *part, size_t len)
{
	enum rl_hook hook = target->hook < 0 ? RL_HOOK_XDP : target->hook;
	struct target named = *target;
	char device[IF_NAMESIZE];
	struct places pinned;
	int ret;

	snprintf(device, sizeof(device), "%.*s", (int)len, part);
	named.device = device;
	named.many = false;
	ret = places_list(&named, &pinned);
	if (!ret && pinned.count)
		hook = __builtin_ctz(hooks_of(&pinned));
	ret = ret ? ret : pinned.count ? -ESTALE : -ENOENT;
	places_clear(&pinned);
	return report_open_error(device, hook, ret);
}

/* Reports the parts of the selection that match none of the places. */
static int parts_check(const struct target *target, const struct places *places)
{
	const char *part = target->device;
	int ret = 0;

	for (size_t len;; part += len + 1) {
		bool any = false;

		len = selection_part(part);
		for (size_t i = 0; i < places->count; i++)
			any |= selection_part_matches(part, len, places->items[i].device);
		if (!any && !len) {
			fail("'%s': empty name: leave the comma out", target->device);
			ret = -ENOENT;
		} else if (!any && selection_is_pattern(part, len)) {
			ret = report_part(target->bpffs, part, len);
		} else if (!any) {
			ret = report_name(target, part, len);
		}
		if (!part[len])
			return ret;
	}
}

/* ---- the choice */

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
	if (attached && strcmp(places->items[0].device, places->items[places->count - 1].device)) {
		names_print(places, names);
		fail("several instances, on %s: choose one with -i DEV%s", names,
		     target->many ? ", or all with -i all" : "");
		return -ENOTUNIQ;
	}
	return 0;
}

/* Keeps one hook of each device. */
static int hooks_settle(struct places *places, bool attached)
{
	struct pinned *items = places->items;
	size_t kept = 0, end;

	for (size_t first = 0; first < places->count; first = end) {
		struct places same = {.items = items + first};
		int hook;

		for (end = first;
		     end < places->count && !strcmp(items[end].device, items[first].device); end++)
			same.count++;
		hook = hook_meant(hooks_of(&same));
		if (hook < 0 && attached)
			return report_hooks(items[first].device);
		if (hook < 0)
			hook = __builtin_ctz(hooks_of(&same));
		while ((int)items[first].hook != hook)
			first++;
		items[kept++] = items[first];
	}
	places->count = kept;
	return 0;
}

int places_choose(const struct target *target, struct places *out)
{
	int ret = places_list(target, out);
	bool attached;

	if (ret)
		return ret;
	/* The only one need not be checked. */
	attached = (!out->many && out->count == 1) || places_keep_attached(out);
	if (out->many && !attached)
		out->count = 0;
	ret = out->many ? parts_check(target, out) : one_check(target, out, attached);
	if (!ret)
		ret = hooks_settle(out, attached);
	if (!ret && !out->many)
		out->count = 1; /* of several that are not attached the first */
	if (ret)
		places_clear(out);
	return ret;
}

/* ---- opening */

static int maps_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
			uint64_t maps, struct instance *out)
{
	struct owner_record record;
	struct device_program program;
	int lock = use == USE_WRITE ? pins_lock(path, false) : -1;
	int ret = use == USE_WRITE && lock < 0
			  ? lock
			  : instance_open_maps(path, device, use != USE_READ, maps, out);

	if (!ret) {
		ret = owner_record_read(out->path, &record) ?: instance_program_find(out, &program);
		if (ret == -ENOENT) /* the program of the maps is not on the device */
			ret = -ESTALE;
		if (ret)
			maps_close(&out->fd);
	} else if (ret == -ENOENT) {
		/* Maps are missing: if its program is attached, its version has other maps. */
		ret = pins_program_find(path, device, hook, &program);
		ret = ret ? ret : -EPROTO;
	}
	if (!ret)
		out->lock_fd = lock;
	else
		pins_unlock(lock);
	return ret;
}

int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out)
{
	return maps_open_at(path, device, hook, use, INSTANCE_MAPS_ALL, out);
}

int instance_for_each(const struct target *target,
		      int (*visit)(struct instance *instance, void *arg), void *arg)
{
	struct places places;
	int ret = places_list(target, &places), unseen = 0, refused = 0;
	bool visited = false;

	for (size_t i = 0; !ret && i < places.count; i++) {
		const struct pinned *at = &places.items[i];
		struct instance instance;
		int error = instance_open_at(at->path, at->device, at->hook, USE_READ, &instance);

		if (!error) {
			ret = visit(&instance, arg);
			visited = true;
			instance_close(&instance);
			continue;
		}
		/* A detached instance is skipped, one of another version is only reported; another
		 * error makes the listing incomplete, but those that can be opened come first. */
		if (error != -ENOENT && error != -ESTALE)
			report_open_error(at->device, at->hook, error);
		if (error == -EACCES)
			refused = error;
		else if (error != -ENOENT && error != -ESTALE && error != -EPROTO)
			unseen = error;
	}
	if (!ret && !unseen && !refused && places.many) {
		if (!places_keep_attached(&places))
			places.count = 0;
		unseen = parts_check(target, &places);
	}
	places_clear(&places);
	if (!ret)
		ret = unseen;
	return !ret && !visited ? refused : ret;
}

static int open_for(const struct target *target, enum use use, uint64_t maps, struct instance *out)
{
	const struct pinned *at;
	struct places places;
	int ret = places_choose(target, &places);

	if (ret)
		return ret;
	at = places.items;
	if (!at)
		return one_check(target, &places, false);
	ret = maps_open_at(at->path, at->device, at->hook, use, maps, out);
	if (ret == -EACCES && use != USE_READ)
		fail("%s: %s: run as root (members of the group of `attach --group` may only read)",
		     at->device, strerror(-ret));
	else if (ret)
		report_open_error(at->device, at->hook, ret);
	places_clear(&places);
	return ret;
}

int instance_open(const struct target *target, bool write, struct instance *out)
{
	return open_for(target, write ? USE_WRITE : USE_READ, INSTANCE_MAPS_ALL, out);
}

int instance_open_shared(const struct target *target, struct instance *out)
{
	return open_for(target, USE_SHARED, INSTANCE_MAPS_ALL, out);
}

int instance_open_sets(const struct target *target, bool write, struct instance *out)
{
	return open_for(target, write ? USE_WRITE : USE_READ, INSTANCE_MAPS_SETS, out);
}
