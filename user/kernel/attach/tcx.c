// SPDX-License-Identifier: GPL-2.0-only
/* tcx through bpf(2), because libbpf before 1.3 supports only part of it. */

#include "kernel/attach/tcx.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>

#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"

/* ---- from linux/bpf.h of Linux 6.6, which Debian 12 lacks */

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS and BPF_TCX_EGRESS of enum bpf_attach_type */
#define TCX_EGRESS  47

#ifndef BPF_F_BEFORE
#define BPF_F_BEFORE (1u << 3)
#define BPF_F_AFTER  (1u << 4)
#define BPF_F_ID     (1u << 5)
#endif

struct tcx_query { /* union bpf_attr, query */
	uint32_t ifindex, attach_type, query_flags, attach_flags;
	uint64_t programs;
	uint32_t count, reserved;
	uint64_t program_flags, links, link_flags, revision;
};
_Static_assert(sizeof(struct tcx_query) == 64, "as the kernel lays it out");

struct tcx_link { /* struct bpf_link_info, tcx */
	uint32_t type, id, program, reserved;
	uint32_t ifindex, attach_type; /* ifindex 0: the device is gone */
};

#define LINK_PIN "link"
#define NEXT_PIN "link_next" /* of the link that is about to replace it */

static int attach_type_of(enum rl_hook hook)
{
	return hook == RL_HOOK_EGRESS ? TCX_EGRESS : TCX_INGRESS;
}

/* ---- the programs at the hook */

/* Kernels without tcx reject the attach type and the pointers to links with EINVAL. */
int tcx_read(int ifindex, enum rl_hook hook, struct tcx_list *out)
{
	struct tcx_query query = {
		.ifindex = ifindex,
		.attach_type = attach_type_of(hook),
		.count = TCX_PROGRAMS_MAX,
	};

	*out = (struct tcx_list){0};
	query.programs = (uintptr_t)out->programs;
	query.links = (uintptr_t)out->links;
	if (syscall(__NR_bpf, BPF_PROG_QUERY, &query, sizeof(query)))
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	out->count = query.count;
	return 0;
}

int tcx_program_find(int ifindex, enum rl_hook hook, uint32_t wanted, struct device_program *out)
{
	struct tcx_list list;
	uint32_t id;
	int ret = tcx_read(ifindex, hook, &list);

	for (uint32_t i = 0; !ret && i < list.count; i++) {
		ret = program_id_uses(list.programs[i], wanted, &id);
		if (ret > 0) {
			*out = (struct device_program){.id = list.programs[i],
						       .link = list.links[i]};
			return 0;
		}
	}
	/* Without tcx or the device, no program is attached. */
	return !ret || ret == -EOPNOTSUPP || ret == -ENODEV ? -ENOENT : ret;
}

/* ---- links */

static int link_read(int fd, struct tcx_link *out)
{
	uint32_t size = sizeof(*out);

	*out = (struct tcx_link){0};
	return bpf_obj_get_info_by_fd(fd, out, &size);
}

/* The id of the program at ingress that belongs to the device's xdp instance, which runs before
 * that of ingress itself; 0: none. */
static uint32_t xdp_stand_in(const struct tc_place *place)
{
	char root[INSTANCE_PATH_MAX], xdp[INSTANCE_PATH_MAX];
	struct device_program program;
	uint32_t policy;

	if (place->hook != RL_HOOK_INGRESS || place->first)
		return 0;
	pins_parent(place->pins, 1, root);
	if (pins_path(root, place->device, RL_HOOK_XDP, xdp) || pins_policy_id(xdp, &policy) ||
	    tcx_program_find((int)place->ifindex, place->hook, policy, &program))
		return 0;
	return program.id;
}

/* Creates a link with a pin of that name, which runs before all others at the hook except the
 * stand-in of xdp: directly after that. The kernel reads the id of the program that the flags refer
 * to from libbpf's target_btf_id. */
static int link_put(const struct tc_place *place, const char *name, int program_fd,
		    struct tcx_link *out)
{
	uint32_t after = xdp_stand_in(place);
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = after ? BPF_F_AFTER | BPF_F_ID : BPF_F_BEFORE, .target_btf_id = after);
	struct tcx_list list;
	/* EINVAL is ambiguous: query first. */
	int ret = tcx_read((int)place->ifindex, place->hook, &list);

	if (ret)
		return ret;
	CLOSED int fd = bpf_link_create(program_fd, (int)place->ifindex,
					attach_type_of(place->hook), &opts);
	if (fd < 0)
		return fd == -ERANGE ? -EOPNOTSUPP : fd;
	return link_read(fd, out) ?: pin_make(place->pins, name, fd);
}

int tcx_program_attach(const struct tc_place *place, int program_fd, uint32_t *program)
{
	struct tcx_link link;
	int ret = link_put(place, LINK_PIN, program_fd, &link);

	if (!ret)
		*program = link.program;
	return ret;
}

int tcx_programs_detach(int ifindex, enum rl_hook hook, uint32_t wanted, uint32_t kept)
{
	struct tcx_list list;
	uint32_t id;
	int ret = tcx_read(ifindex, hook, &list);

	if (ret)
		return ret == -EOPNOTSUPP || ret == -ENODEV ? 0 : ret;
	for (uint32_t i = 0; ret >= 0 && i < list.count; i++) {
		if (list.links[i] == kept)
			continue;
		ret = program_id_uses(list.programs[i], wanted, &id);
		if (ret <= 0)
			continue;
		CLOSED int fd = bpf_link_get_fd_by_id(list.links[i]);
		ret = fd < 0 ? fd : bpf_link_detach(fd);
		/* Its device is gone, or it is already detached. */
		if (ret == -ENOENT || ret == -ENOLINK || ret == -ENODEV)
			ret = 0;
	}
	return ret < 0 ? ret : 0;
}

/* ---- the pinned link, for callers that may not query the hook */

/* Opening a link for reading permits detaching it, so members of the group may not open it. They
 * check that it is pinned and that the instance has this device. */
static bool link_is_pinned(const char *path, int ifindex)
{
	CLOSED int folder = pins_folder_open(path, O_PATH);
	struct rl_instance info;
	struct stat pin;

	return folder >= 0 && !fstatat(folder, LINK_PIN, &pin, AT_SYMLINK_NOFOLLOW) &&
	       instance_info_read(path, &info) && (int)info.ifindex == ifindex;
}

int tcx_recorded_program_find(const char *path, int ifindex, enum rl_hook hook, uint32_t program,
			      struct device_program *out)
{
	CLOSED int fd = pin_open_at(path, LINK_PIN, true);
	struct tcx_link link;
	int ret;

	if (fd == -EACCES || fd == -EPERM || fd == -EROFS) {
		*out = (struct device_program){.id = program};
		return link_is_pinned(path, ifindex) ? 0 : -ENOENT;
	}
	ret = fd < 0 ? fd : link_read(fd, &link);
	if (ret)
		return ret;
	*out = (struct device_program){.id = link.program, .link = link.id};
	return (int)link.ifindex == ifindex && (int)link.attach_type == attach_type_of(hook)
		       ? 0
		       : -ENOENT;
}

bool tcx_link_is_dead(const char *path)
{
	CLOSED int fd = pin_open_at(path, LINK_PIN, true);
	struct tcx_link link;

	return fd >= 0 && !link_read(fd, &link) && !link.ifindex;
}

/* ---- replace */

/* Replaces the program of the link atomically if it is still the old one. */
static int link_update(const struct device_program *old, int program_fd)
{
	CLOSED int fd = bpf_link_get_fd_by_id(old->link);
	CLOSED int old_fd = fd < 0 ? fd : bpf_prog_get_fd_by_id(old->id);
	LIBBPF_OPTS(bpf_link_update_opts, opts, .flags = BPF_F_REPLACE, .old_prog_fd = old_fd);

	return old_fd < 0 ? old_fd : bpf_link_update(fd, program_fd, &opts);
}

/* Renames the pin of a new link that was created beside the old one, which drops the old link's
 * pin. */
static int next_settle(const char *path)
{
	CLOSED int folder = pins_folder_open(path, O_PATH);

	if (folder < 0)
		return folder;
	return renameat(folder, NEXT_PIN, folder, LINK_PIN) && errno != ENOENT ? -errno : 0;
}

/* Position of our first program, or list->count if there is none. */
static uint32_t position_find(const struct tcx_list *list, uint32_t wanted)
{
	uint32_t position = 0, id;

	while (position < list->count &&
	       (!list->links[position] ||
		program_id_uses(list->programs[position], wanted, &id) <= 0))
		position++;
	return position;
}

int tcx_program_replace(const struct tc_place *place, int program_fd, uint32_t wanted)
{
	uint32_t position, best = 0, stand_in = xdp_stand_in(place);
	struct device_program old = {0};
	struct tcx_link next = {0};
	struct tcx_list list;
	int ret = tcx_read((int)place->ifindex, place->hook, &list);

	if (ret)
		return ret;
	position = position_find(&list, wanted);
	/* It should run first, or after the stand-in of xdp. */
	for (uint32_t i = 0; stand_in && i < list.count; i++)
		best = list.programs[i] == stand_in ? i + 1 : best;
	if (position < list.count)
		old = (struct device_program){.id = list.programs[position],
					      .link = list.links[position]};
	/* The new link is attached beside the old one: meanwhile a packet is charged twice, but
	 * none escapes. */
	if (position != best || position == list.count)
		ret = next_settle(place->pins) /* of an interrupted replacement */
			      ?: link_put(place, NEXT_PIN, program_fd, &next);
	if (old.link && (position == best || ret == -EOPNOTSUPP)) { /* no free position */
		ret = link_update(&old, program_fd);
		next.id = old.link;
	}
	if (!ret)
		ret = next_settle(place->pins);
	return ret ? ret : tcx_programs_detach((int)place->ifindex, place->hook, wanted, next.id);
}
