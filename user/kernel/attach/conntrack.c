// SPDX-License-Identifier: GPL-2.0-only
/* Looks for the functions of connection tracking in the type information of the kernel, or of its
 * module, as libbpf does when it loads a program that calls them. */

#include "kernel/attach/conntrack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include <bpf/btf.h>

#include "base/message.h"

#define CONNTRACK_SINCE "5.18"
#define MODULE          "nf_conntrack"
#define FUNCTION        "bpf_xdp_ct_lookup" /* all came together */
#define COUNT           "/proc/sys/net/netfilter/nf_conntrack_count"

static bool has_function(const struct btf *btf)
{
	return btf && btf__find_by_name_kind(btf, FUNCTION, BTF_KIND_FUNC) > 0;
}

static bool functions_exist(void)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *module = NULL;
	bool found = has_function(kernel);

	if (kernel && !found) {
		module = btf__load_module_btf(MODULE, kernel);
		found = has_function(module);
	}
	btf__free(module);
	btf__free(kernel);
	return found;
}

/* How many connections it has; -1 if there is no connection tracking. */
static int64_t connections(void)
{
	FILE *file = fopen(COUNT, "re");
	int64_t count = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%" SCNd64, &count) != 1)
		count = -1;
	fclose(file);
	return count;
}

enum conntrack conntrack_read(void)
{
	int64_t count = connections();

	if (!functions_exist())
		return count < 0 ? CONNTRACK_NOT_LOADED : CONNTRACK_NO_FUNCTIONS;
	return count > 0 ? CONNTRACK_TRACKS : CONNTRACK_EMPTY;
}

int conntrack_check(const char *device, const struct rl_instance *info)
{
	if (info->proof != RL_PROOF_CONNTRACK)
		return 0;
	switch (conntrack_read()) {
	case CONNTRACK_NOT_LOADED:
		fail("%s: --state conntrack: the kernel's connection tracking is not loaded: run "
		     "`modprobe nf_conntrack`",
		     device);
		return -ENOENT;
	case CONNTRACK_NO_FUNCTIONS:
		fail("%s: --state conntrack: this kernel's connection tracking cannot be asked by "
		     "programs: use Linux " CONNTRACK_SINCE " or later, built with "
		     "CONFIG_DEBUG_INFO_BTF_MODULES",
		     device);
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}
