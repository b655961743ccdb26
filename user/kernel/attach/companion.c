// SPDX-License-Identifier: GPL-2.0-only
/* The companion is recognised by the instance map, which is bound to it and to no other program.
 * That map notes it before it is attached, so that whoever cleans up after a crash finds it; the
 * link of tcx is pinned in a directory of its own among the instance's pins. */

#include "kernel/attach/companion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/attach/object.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/tcx.h"
#include "kernel/device/device.h"
#include "kernel/failures.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"
#include "sent.skel.h"

static int companion_note(const struct instance *instance, struct rl_instance *info,
			  uint32_t program)
{
	int ret = instance_info_now(instance, info);

	if (ret)
		return ret;
	info->companion = program;
	return map_put(instance->fd.instance, info);
}

int companion_find(const char *path, const char *device, struct device_program *out)
{
	CLOSED int fd = pin_open_at(path, "instance", false);
	uint32_t mark = 0;
	int ret = fd < 0 ? fd : map_id(fd, &mark);

	return ret ? ret : tc_program_find(device, RL_HOOK_EGRESS, mark, out);
}

bool companion_is_dead(const char *path)
{
	char pins[INSTANCE_PATH_MAX + 16];

	snprintf(pins, sizeof(pins), "%s/" COMPANION_FOLDER, path);
	return tcx_link_is_dead(pins);
}

/* ---- loading */

/* It shares the tables with the instance; `headers` is its own, and the other maps are those of
 * functions that it does not call. */
static int map_settle(const char *path, const struct rl_instance *info, struct bpf_map *map)
{
	char pin[INSTANCE_PATH_MAX + 32];
	const char *name = bpf_map__name(map);

	if (bpf_map__is_internal(map))
		return 0;
	if (!strcmp(name, "asked") || !strcmp(name, "peers")) {
		snprintf(pin, sizeof(pin), "%s/%s", path, name);
		return bpf_map__set_pin_path(map, pin);
	}
	if (strcmp(name, "headers") != 0 || !info->outer_ip)
		return bpf_map__set_autocreate(map, false);
	return bpf_map__set_value_size(map, RL_HEADERS_SIZE(object_headers_reach(info)));
}

/* NULL with errno. */
static struct sent_bpf *program_load(const struct instance *instance,
				     const struct rl_instance *info)
{
	struct sent_bpf *skel = sent_bpf__open();
	struct bpf_map *map;
	int ret = 0;

	if (!skel)
		return NULL;
	skel->rodata->config = (struct rl_config){
		.clock_tick_ns = info->tick_ns,
		.clock_tick_base_ns = info->tick_base_ns,
		.headers_reach = object_headers_reach(info),
		.frames_have_ethernet = !info->raw_ip,
		.frames_have_outer = info->outer_ip,
		.has_peers = true,
		.keeps_asked = true,
	};
	bpf_object__for_each_map(map, skel->obj) ret = ret ?: map_settle(instance->path, info, map);
	if (!ret)
		ret = sent_bpf__load(skel);
	if (!ret)
		ret = bpf_prog_bind_map(bpf_program__fd(skel->progs.rlctl_sent),
					instance->fd.instance, NULL);
	if (!ret)
		return skel;
	sent_bpf__destroy(skel);
	errno = -ret;
	return NULL;
}

/* ---- at the device */

/* Attach makes it before it knows whether programs of others may be looked at. Others who detach it
 * leave the pin of its link, where that of the next one goes. */
static bool is_there(const struct instance *instance, const struct rl_instance *info)
{
	struct device_program there;
	int ret;

	if (is_being_made(instance) || !info->companion)
		return false;
	ret = companion_find(instance->path, instance->device, &there);
	if (ret == -ENOENT)
		folder_clear(instance->path, COMPANION_FOLDER);
	return !ret;
}

/* Loads it, and puts it to the device, in the place of the one that is there. Reports. */
static int program_put(const struct instance *instance, struct rl_instance *info, bool replaces)
{
	int ifindex = device_index(instance->device), ret = ifindex < 0 ? ifindex : 0, program;
	struct sent_bpf *skel = program_load(instance, info);
	char pins[INSTANCE_PATH_MAX + 16];
	const struct tc_place place = {.device = instance->device,
				       .pins = pins,
				       .ifindex = (uint32_t)ifindex,
				       .hook = RL_HOOK_EGRESS};
	struct device_program now = {0};
	uint32_t mark = 0;

	if (!skel)
		return report_load_failure(instance->device, info, LOAD_STAGE_PROGRAM, NULL,
					   -errno);
	program = bpf_program__fd(skel->progs.rlctl_sent);
	snprintf(pins, sizeof(pins), "%s/" COMPANION_FOLDER, instance->path);
	if (!ret && !replaces)
		ret = folder_clear(instance->path,
				   COMPANION_FOLDER); /* a link that an earlier one left */
	if (!ret && mkdir(pins, 0700) && errno != EEXIST)
		ret = -errno;
	if (!ret)
		ret = replaces ? map_id(instance->fd.instance, &mark)
			       : companion_note(instance, info, RL_COMPANION_COMING);
	if (!ret)
		ret = replaces ? tc_place_exchange(&place, mark, program)
			       : tc_place_take(&place, info, instance->fd.instance, program,
					       &now.id);
	if (!ret && replaces && companion_find(instance->path, instance->device, &now))
		now.id = RL_COMPANION_COMING;
	if (!ret)
		ret = companion_note(instance, info, now.id);
	sent_bpf__destroy(skel);
	return ret ? report_tc_error(instance->device, ret) : 0;
}

int companion_attach(const struct instance *instance, struct rl_instance *info)
{
	return is_there(instance, info) ? 0 : program_put(instance, info, false);
}

int companion_replace(const struct instance *instance, struct rl_instance *info)
{
	return program_put(instance, info, is_there(instance, info));
}

int companion_remove(const struct instance *instance)
{
	uint32_t mark;

	return map_id(instance->fd.instance, &mark)
		       ?: tc_program_detach(instance->device, RL_HOOK_EGRESS, mark)
		       ?: folder_clear(instance->path, COMPANION_FOLDER);
}

int companion_detach(const struct instance *instance, struct rl_instance *info)
{
	int ret = companion_remove(instance);

	if (!ret && info->mode != RL_MODE_TC)
		ret = clsact_undo(instance, info);
	if (!ret)
		ret = companion_note(instance, info, 0);
	if (ret)
		note("%s: detaching its program at egress, which the policy does not need, failed: "
		     "%s: the next change of the policy tries it again",
		     instance->device, strerror(-ret));
	return ret;
}
