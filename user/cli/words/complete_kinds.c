// SPDX-License-Identifier: GPL-2.0-only
/* Candidates for arguments that are no words of the language: files, namespaces, devices, sets. */
#include <dirent.h>
#include <pwd.h>

#include "cli/attach/named_policy.h"
#include "cli/sets/set_open.h"
#include "cli/words/complete.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/selection.h"

void offer_files(struct completion *c)
{
	(void)c;
	puts("<files>");
}

void offer_policies(struct completion *c)
{
	struct policy_names names;

	policy_names_read(&names);
	for (size_t i = 0; i < names.count; i++)
		offer(c, names.list[i].name, names.list[i].title);
	policy_names_clear(&names);
	if (!c->command.verb || c->command.verb->run != cmd_policies)
		offer_files(c);
}

void offer_namespaces(struct completion *c)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			offer(c, entry->d_name, NULL);
	if (dir)
		closedir(dir);
}

void offer_users(struct completion *c)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent()))
		offer(c, user->pw_name, NULL);
	endpwent();
}

static void offer_all_devices(struct completion *c)
{
	struct if_nameindex *devices = if_nameindex();

	for (struct if_nameindex *device = devices; device && device->if_name; device++)
		offer(c, device->if_name, NULL);
	if (devices)
		if_freenameindex(devices);
}

static int offer_instance(struct instance *instance, void *arg)
{
	struct completion *c = arg;

	offer(c, instance->device, hook_name(instance->info.hook));
	c->instances++;
	return 0;
}

void offer_devices(struct completion *c)
{
	const struct verb *verb = c->command.verb;
	struct target any = {.bpffs = c->command.target.bpffs, .hook = -1};
	size_t before = c->offered_len;

	if (!verb || verb->run != cmd_attach)
		instance_for_each(&any, offer_instance, c);
	if (verb && verb->many && c->instances > 1)
		offer(c, SELECTION_ALL, "every device with an instance");
	if (c->offered_len == before)
		offer_all_devices(c);
}

static void offer_plain(void *arg, const char *word)
{
	offer(arg, word, NULL);
}

void offer_sets(struct completion *c)
{
	set_names_offer(&c->command.target, offer_plain, c);
}
