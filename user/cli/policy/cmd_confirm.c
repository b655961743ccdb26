// SPDX-License-Identifier: GPL-2.0-only
/* rlctl confirm: keeps what is on trial; with several trials, -i must say which. */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "kernel/attach/trial.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/selection.h"

struct trial_place {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
};

struct found {
	struct trial_place *items;
	size_t count;
};

static int visit(struct instance *instance, void *arg)
{
	struct found *found = arg;
	struct trial_place *at;
	struct trial_left left;
	int ret = instance_trial_left(instance, &left);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return fail("%s: reading the trial failed: %s", instance->device, strerror(-ret));
	found->items = xreallocarray(found->items, found->count + 1, sizeof(*found->items));
	at = &found->items[found->count++];
	memcpy(at->device, instance->device, sizeof(at->device));
	at->hook = instance->info.hook;
	return 0;
}

static int keep(const struct target *target)
{
	struct instance instance;
	enum trial_kind kind;
	int rc = instance_open(target, true, &instance);

	if (rc)
		return rc;
	rc = instance_trial_keep(&instance, &kind);
	if (!rc)
		note("%s: the %s is confirmed", instance.device, trial_kind_name(kind));
	instance_close(&instance);
	return rc;
}

int cmd_confirm(const struct command *command)
{
	const char *device = command->target.device;
	bool many = device && selection_is_many(device);
	struct target one = {.bpffs = command->target.bpffs};
	struct found found = {0};
	int rc = instance_for_each(&command->target, visit, &found), kept = 0;

	/* A device that went during the trial takes no other with it. */
	if (!found.count && !rc)
		kept = device && !many ? keep(&command->target) /* reports the absence */
				       : fail("nothing is on trial: nothing to confirm");
	else if (found.count > 1 && !many)
		kept = fail("several trials are running%s%s: choose one with %s",
			    device ? " on " : "", device ? device : "",
			    device ? "--hook HOOK" : "-i DEV, or -i all for all of them");
	for (size_t i = 0; i < found.count && (many || found.count == 1); i++) {
		one.device = found.items[i].device;
		one.hook = found.items[i].hook;
		if (keep(&one))
			kept = -1;
	}
	free(found.items);
	return rc ? rc : kept;
}
