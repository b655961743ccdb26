// SPDX-License-Identifier: GPL-2.0-only
#include "cli/policy/save_file.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/device/device.h"
#include "kernel/device/netns.h"

/* The file of DEV at a hook of tc is that of a device DEV.HOOK at xdp as well. 0, or -1 if there
 * are both devices; reports. */
static int path_check(const char *verb, const char *path, const char *device, enum rl_hook hook)
{
	const char *dot = strrchr(device, '.');
	enum rl_hook other = RL_HOOK_XDP;
	char name[IF_NAMESIZE];

	if (hook != RL_HOOK_XDP) {
		if (snprintf(name, sizeof(name), "%s.%s", device, hook_name(hook)) >= IF_NAMESIZE)
			return 0;
	} else {
		if (!dot)
			return 0;
		other = strcmp(dot + 1, hook_name(RL_HOOK_EGRESS)) ? RL_HOOK_INGRESS
								   : RL_HOOK_EGRESS;
		if (strcmp(dot + 1, hook_name(other)) != 0)
			return 0;
		snprintf(name, sizeof(name), "%.*s", (int)(dot - device), device);
	}
	if (device_index(name) < 0)
		return 0;
	return fail("%s: the file of %s at %s and of %s at %s: name another one: `rlctl %s -i %s "
		    "--hook %s FILE`",
		    path, device, hook_name(hook), name, hook_name(other), verb, device,
		    hook_name(hook));
}

int instance_file_path(const char *verb, const char *folder, const char *device, enum rl_hook hook,
		       const char *suffix, char out[PATH_MAX])
{
	bool at_tc = hook != RL_HOOK_XDP;
	char netns[NAME_MAX + 1];

	if (netns_name(netns))
		return fail("%s: this network namespace has no name of `ip netns`, so it has no "
			    "file in %s: name one: `rlctl %s -i %s --hook %s FILE`",
			    device, folder, verb, device, hook_name(hook));
	snprintf(out, PATH_MAX, "%s/%s%s%s%s%s%s.%s", folder, *netns ? "netns-" : "", netns,
		 *netns ? "/" : "", device, at_tc ? "." : "", at_tc ? hook_name(hook) : "", suffix);
	return path_check(verb, out, device, hook);
}

void instance_file_owner(const char *device, enum rl_hook hook, char out[OWNER_MAX])
{
	char netns[NAME_MAX + 1];
	bool named = !netns_name(netns);

	snprintf(out, OWNER_MAX, "%s at %s%s%s", device, hook_name(hook),
		 named && !*netns ? "" : " in ", named ? netns : "a namespace without a name");
}
