// SPDX-License-Identifier: GPL-2.0-only
/* rlctl attach --follow: attaches to devices as they come. All devices are listed after each change
 * of one, so that no lost notification leaves one out. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/attach/devices.h"
#include "kernel/device/device.h"
#include "kernel/device/netlink.h"
#include "kernel/instance/find.h"
#include "kernel/instance/gc.h"
#include "kernel/instance/selection.h"

#define TRIES    3 /* of a device that cannot be attached to, at its first changes */
#define SWEEPS   5 /* for the pins of a device that is gone, while its program is being unloaded */
#define SWEEP_MS 1000

/* A device that was there when they were listed last. */
struct known {
	char name[IF_NAMESIZE];
	int ifindex;
	int tries; /* left; 0: no more */
	bool there;
};

static struct known *known_find(struct follower *f, const char *name, int ifindex)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->known[i].ifindex == ifindex && !strcmp(f->known[i].name, name))
			return &f->known[i];
	return NULL;
}

static int device_see(const char *name, void *arg)
{
	struct follower *f = arg;
	int ifindex = device_index(name);
	struct known *known = known_find(f, name, ifindex);

	if (ifindex < 0 || !selection_matches(f->command.target.device, name))
		return 0;
	if (!known) {
		f->known = xreallocarray(f->known, f->count + 1, sizeof(*f->known));
		known = &f->known[f->count++];
		*known = (struct known){.ifindex = ifindex, .tries = TRIES};
		memcpy(known->name, name, strlen(name)); /* it is a device's */
		f->sweeps = SWEEPS; /* one that was moved away may be gone by now */
	}
	known->there = true;
	return 0;
}

static void devices_list(struct follower *f)
{
	char root[INSTANCE_PATH_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		f->known[i].there = false;
	device_for_each(device_see, f);
	for (size_t i = 0; i < f->count; i++)
		if (f->known[i].there)
			f->known[kept++] = f->known[i];
	if (kept < f->count)
		f->sweeps = SWEEPS;
	f->count = kept;
	if (f->sweeps) {
		f->sweeps--;
		if (pins_root_follow(f->command.target.bpffs, false, root) ||
		    !gone_devices_clear(root))
			f->sweeps = 0;
	}
}

void follow_done(struct follower *f, const struct device_choices *choices)
{
	for (size_t i = 0; i < f->count; i++) {
		bool waits = false;

		for (size_t k = 0; k < choices->count; k++)
			if (!strcmp(choices->items[k].name, f->known[i].name))
				waits = !choices->items[k].attached;
		if (!waits)
			f->known[i].tries = 0;
	}
}

static void new_attach(struct follower *f)
{
	const char *path = f->command.arguments[OPTION_POLICY];
	struct device_choices all = {0}, wanted = {0};
	CLEARED_FILE struct policy_file file = {0};
	bool wants = false;

	for (size_t i = 0; i < f->count; i++)
		wants |= f->known[i].tries > 0;
	if (!wants || (path && policy_file_read(path, &file)))
		return;
	if (!devices_choose(&f->command, f->hooks, &all)) {
		/* Those that are new, or that failed and have tries left. */
		wanted.items = all.items;
		for (size_t i = 0; i < all.count; i++) {
			const char *name = all.items[i].name;
			struct known *known = known_find(f, name, device_index(name));

			if (!known || !known->tries)
				continue;
			known->tries--;
			wanted.items[wanted.count++] = all.items[i];
		}
		if (wanted.count)
			devices_attach(&f->command, f->options, &wanted, path ? &file : NULL, true,
				       NULL);
		follow_done(f, &wanted);
	}
	devices_clear(&all);
}

void follow_begin(struct follower *f, const struct command *command,
		  const struct attach_options *options, unsigned int hooks)
{
	*f = (struct follower){.command = *command, .options = options, .hooks = hooks};
	f->command.arguments[OPTION_OR_APPLY] = NULL;
	devices_list(f);
}

int follow_run(struct follower *f)
{
	struct pollfd fds[] = {{.fd = links_watch_open(), .events = POLLIN},
			       {.fd = signals_open(), .events = POLLIN}};

	if (fds[0].fd < 0 || fds[1].fd < 0)
		return fail("attach --follow: %s", strerror(fds[0].fd < 0 ? -fds[0].fd : errno));
	while (!fds[1].revents) {
		devices_list(f);
		new_attach(f);
		message_flush();
		poll(fds, 2, f->sweeps ? SWEEP_MS : -1);
		links_watch_drain(fds[0].fd);
	}
	close(fds[0].fd);
	close(fds[1].fd);
	free(f->known);
	return 0;
}
