// SPDX-License-Identifier: GPL-2.0-only
/* Lists the programs on a device. */

#include "kernel/instance/attached.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "kernel/attach/companion.h"
#include "kernel/attach/program.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/tcx.h"
#include "kernel/device/device.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "rlctl.skel.h"

static void program_append(struct device_programs *out, const struct xdp_program *program)
{
	struct device_xdp_program *at = &out->list[out->count];

	if (out->count == DEVICE_PROGRAMS_MAX)
		return;
	at->id = xdp_program__id(program);
	snprintf(at->name, sizeof(at->name), "%s", xdp_program__name(program));
	out->count++;
}

int device_programs_read(int ifindex, struct device_programs *out)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *program = NULL;
	int ret = (int)libxdp_get_error(mp);

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	out->native = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE;
	out->dispatcher = !xdp_multiprog__is_legacy(mp);
	if (!out->dispatcher && xdp_multiprog__main_prog(mp))
		program_append(out, xdp_multiprog__main_prog(mp));
	while (out->dispatcher && (program = xdp_multiprog__next_prog(program, mp)))
		program_append(out, program);
	xdp_multiprog__close(mp);
	return 0;
}

static void tcx_name(uint32_t id, struct device_xdp_program *out)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	*out = (struct device_xdp_program){.id = id};
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
		snprintf(out->name, sizeof(out->name), "%s", info.name);
	if (fd >= 0)
		close(fd);
}

/* Searches all instances of the device: one at hook xdp may have its program at tc ingress. */
static void tc_ours_read(const char *bpffs, const char *device, enum rl_hook hook,
			 struct device_tcx *out)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct device_program ours;
	uint32_t policy;

	if (!bpffs || pins_root_follow(bpffs, false, root))
		return;
	for (int at = RL_HOOK_XDP; at <= RL_HOOK_EGRESS && !out->ours; at++) {
		if (pins_path(root, device, at, path) || pins_policy_id(path, &policy) ||
		    tc_program_find(device, hook, policy, &ours))
			continue;
		out->ours = ours.id;
		out->twice = tc_program_count(device, hook, policy) > 1;
	}
}

/* Does it belong to an instance at another hook of the device? */
static bool is_companion(const char *bpffs, const char *device, uint32_t program)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct device_program found;

	if (!bpffs || pins_root_follow(bpffs, false, root))
		return false;
	for (int hook = RL_HOOK_XDP; hook < RL_HOOK_EGRESS; hook++)
		if (!pins_path(root, device, hook, path) && !companion_find(path, device, &found) &&
		    found.id == program)
			return true;
	return false;
}

int device_tcx_read(const char *bpffs, const char *device, enum rl_hook hook,
		    struct device_tcx *out)
{
	struct tcx_list list;
	int ret = tcx_read(device_index(device), hook, &list);

	*out = (struct device_tcx){0};
	if (ret)
		return ret;
	_Static_assert(DEVICE_TCX_MAX == TCX_PROGRAMS_MAX, "all fit");
	for (uint32_t i = 0; i < list.count; i++)
		if (hook != RL_HOOK_EGRESS || !is_companion(bpffs, device, list.programs[i]))
			tcx_name(list.programs[i], &out->list[out->count++]);
	tc_ours_read(bpffs, device, hook, out);
	while (out->ours && out->before < out->count && out->list[out->before].id != out->ours)
		out->before++;
	return 0;
}

bool instance_runs(const struct instance *instance, uint32_t program_id)
{
	int fd = bpf_prog_get_fd_by_id(program_id);
	uint32_t id, policy;
	bool runs = !map_id(instance->fd.policy, &policy) && program_uses(fd, policy, &id) > 0;

	if (fd >= 0)
		close(fd);
	return runs;
}
