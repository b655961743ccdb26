// SPDX-License-Identifier: GPL-2.0-only
/* XDP programs on devices, through libxdp: attach, detach, and finding ours among others. */
#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "kernel_internal.h"
#include "output.h"
#include "rlctl.skel.h"

#define RUN_PRIORITY   10 /* before other XDP programs: they get what we let through */
#define DISPATCHED_MAX 16 /* libxdp's dispatcher takes 10 */

/* ---- whose program is on the device */

/* What is on the device: -ENOENT when nothing is, another error where it could not be asked. */
static int multiprog_open(const char *device, struct xdp_multiprog **out)
{
	int ifindex = if_nametoindex(device);
	struct xdp_multiprog *mp = ifindex ? xdp_multiprog__get_from_ifindex(ifindex) : NULL;
	int ret = mp ? libxdp_get_error(mp) : -ENOENT;

	if (!ret)
		*out = mp;
	return ret;
}

/* Ours, and that of the id unless it is 0: then it becomes the program's. */
static bool is_ours(const struct xdp_program *program, uint32_t wanted, uint32_t *id)
{
	uint32_t found;

	if (!program_uses(xdp_program__fd(program), wanted, &found) || (*id && *id != found))
		return false;
	*id = found;
	return true;
}

/* Ours among those on the device: behind libxdp's dispatcher, or alone without one. */
static struct xdp_program *multiprog_find(struct xdp_multiprog *mp, uint32_t wanted, uint32_t *id)
{
	struct xdp_program *program = NULL;

	if (xdp_multiprog__is_legacy(mp)) {
		program = xdp_multiprog__main_prog(mp);
		return program && is_ours(program, wanted, id) ? program : NULL;
	}
	while ((program = xdp_multiprog__next_prog(program, mp)))
		if (is_ours(program, wanted, id))
			return program;
	return NULL;
}

/* A program that is alone on the device, which needs no libxdp: its look at one such (1.3.1) leaves
 * a descriptor open each time. */
static bool lone_program_find(int ifindex, uint32_t wanted, struct device_program *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	bool found;
	int fd;

	/* Asked for 0 the kernel tells of any device. */
	if (!ifindex || bpf_xdp_query(ifindex, 0, &query) || !query.prog_id)
		return false;
	fd = bpf_prog_get_fd_by_id(query.prog_id);
	found = program_uses(fd, wanted, &out->id);
	out->native = query.attach_mode == XDP_ATTACHED_DRV;
	if (fd >= 0)
		close(fd);
	return found;
}

int xdp_program_find(const char *device, uint32_t wanted, struct device_program *out)
{
	struct xdp_multiprog *mp;
	int ret;

	if (lone_program_find(if_nametoindex(device), wanted, out))
		return 0;
	ret = multiprog_open(device, &mp);
	if (ret)
		return ret;
	out->id = 0; /* any */
	if (multiprog_find(mp, wanted, &out->id))
		out->native = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE;
	else
		ret = -ENOENT;
	xdp_multiprog__close(mp);
	return ret;
}

/* ---- attach */

/* Does the kernel take the program at all? Asked where attaching failed, to tell why. */
static int program_try(const char *path, const struct rl_instance *info)
{
	struct rlctl_bpf *skel;
	int ret = object_load_pinned(path, info, &skel);

	if (!ret)
		rlctl_bpf__destroy(skel);
	return ret;
}

static int xdp_attach_mode(const char *path, const struct rl_instance *info, int ifindex,
			   enum xdp_attach_mode mode)
{
	struct rlctl_bpf *skel = object_open(info);
	struct xdp_program *program;
	int ret;

	if (!skel)
		return -errno;
	ret = object_pin_paths(skel, path);
	if (ret) {
		rlctl_bpf__destroy(skel);
		return ret;
	}
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = skel->obj, .prog_name = "rlctl_xdp");
	program = xdp_program__create(&opts);
	ret = libxdp_get_error(program);
	if (!ret) {
		xdp_program__set_run_prio(program, RUN_PRIORITY);
		ret = xdp_program__attach(program, ifindex, mode, 0);
		xdp_program__close(program);
	}
	rlctl_bpf__destroy(skel);
	return ret;
}

static const char *native_remedy(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "the driver has no XDP";
	case -ERANGE:
	case -E2BIG:
		return "the device's MTU is too large for its driver's XDP";
	case -EINVAL:
		return "the driver refused it; its offloads (LRO, GRO-HW) or queue count may stand "
		       "in the way";
	default:
		return strerror(-error);
	}
}

int xdp_report(const char *device, int error)
{
	if (error == -EBUSY || error == -EEXIST)
		fail("%s: another XDP program is on the device that was not put there through "
		     "libxdp, or in another mode: `bpftool net show dev %s` names it; take it off "
		     "first",
		     device, device);
	else if (error == -EPERM || error == -EACCES)
		fail("%s: attaching was refused: %s: rlctl needs root", device, strerror(-error));
	else
		fail("%s: attaching failed: %s", device, native_remedy(error));
	return error;
}

int xdp_program_attach(const char *path, const struct rl_instance *info, const char *device,
		       enum attach_mode mode)
{
	int ifindex = info->ifindex;
	int ret = -EOPNOTSUPP;

	if (mode != ATTACH_GENERIC)
		ret = xdp_attach_mode(path, info, ifindex, XDP_MODE_NATIVE);
	if (ret && mode != ATTACH_GENERIC) {
		int refused = program_try(path, info);

		if (refused)
			return report_refused(device, info, REFUSED_PROGRAM, refused);
	}
	if (ret && ret != -EBUSY && ret != -EEXIST && mode != ATTACH_NATIVE) {
		if (mode == ATTACH_AUTO)
			note("%s: native mode is not possible (%s): fell back to generic mode, "
			     "which "
			     "sees a packet only after the kernel has allocated it",
			     device, native_remedy(ret));
		ret = xdp_attach_mode(path, info, ifindex, XDP_MODE_SKB);
	}
	return ret ? xdp_report(device, ret) : 0;
}

/* ---- detach */

/* Without a dispatcher the program is taken off only if it is still the one we looked at. */
static int legacy_detach(int ifindex, struct xdp_multiprog *mp, struct xdp_program *program)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = xdp_program__fd(program));
	uint32_t flags = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE ? XDP_FLAGS_DRV_MODE
									   : XDP_FLAGS_SKB_MODE;

	return bpf_xdp_detach(ifindex, flags, &opts);
}

/* One of ours, that of the id unless it is 0; 1 when there is none. */
static int one_detach(const char *device, uint32_t wanted, uint32_t id)
{
	int ifindex = if_nametoindex(device);
	struct xdp_multiprog *mp;
	struct xdp_program *program;
	int ret = multiprog_open(device, &mp);

	if (ret)
		return ret == -ENOENT ? 1 : ret;
	program = multiprog_find(mp, wanted, &id);
	if (!program)
		ret = 1;
	else if (xdp_multiprog__is_legacy(mp))
		ret = legacy_detach(ifindex, mp, program);
	else
		ret = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(mp), 0);
	xdp_multiprog__close(mp);
	return ret;
}

/* All of ours: there are two where replacing one was interrupted. */
int xdp_program_detach(const char *device, uint32_t wanted)
{
	int ret = 0;

	for (int i = 0; !ret && i < DISPATCHED_MAX; i++)
		ret = one_detach(device, wanted, 0);
	return ret > 0 ? 0 : ret;
}

/* ---- replace */

/* Alone on the device: the kernel puts one in the place of the other, if it is still that one. */
static int lone_replace(const struct instance *instance, int ifindex,
			const struct device_program *old)
{
	uint32_t flags = old->native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = bpf_prog_get_fd_by_id(old->id));
	struct rlctl_bpf *skel;
	int ret;

	if (opts.old_prog_fd < 0)
		return xdp_report(instance->device, -errno);
	ret = object_load_pinned(instance->path, &instance->info, &skel);
	if (ret) {
		close(opts.old_prog_fd);
		return report_refused(instance->device, &instance->info, REFUSED_PROGRAM, ret);
	}
	ret = bpf_xdp_attach(ifindex, bpf_program__fd(skel->progs.rlctl_xdp),
			     flags | XDP_FLAGS_REPLACE, &opts);
	rlctl_bpf__destroy(skel);
	close(opts.old_prog_fd);
	return ret ? xdp_report(instance->device, ret) : 0;
}

struct dispatched {
	enum xdp_attach_mode mode;
	uint32_t ids[DISPATCHED_MAX]; /* ours */
	int count;
};

static int dispatched_read(const char *device, uint32_t wanted, struct dispatched *out)
{
	struct xdp_program *program = NULL;
	struct xdp_multiprog *mp;
	int ret = multiprog_open(device, &mp);

	if (ret)
		return ret;
	*out = (struct dispatched){.mode = xdp_multiprog__attach_mode(mp)};
	while (out->count < DISPATCHED_MAX && (program = xdp_multiprog__next_prog(program, mp))) {
		uint32_t id = 0;

		if (is_ours(program, wanted, &id))
			out->ids[out->count++] = id;
	}
	xdp_multiprog__close(mp);
	return 0;
}

static int dispatched_add(const struct instance *instance, int ifindex, enum xdp_attach_mode mode)
{
	int ret = xdp_attach_mode(instance->path, &instance->info, ifindex, mode);
	int refused = ret ? program_try(instance->path, &instance->info) : 0;

	if (refused)
		return report_refused(instance->device, &instance->info, REFUSED_PROGRAM, refused);
	return ret ? xdp_report(instance->device, ret) : 0;
}

static uint32_t dispatcher_id(int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	return bpf_xdp_query(ifindex, 0, &query) ? 0 : query.prog_id;
}

/* Behind the dispatcher: the new one comes beside the old one, which then leaves. Meanwhile a
 * packet that both let through is charged twice. */
static int dispatched_replace(const struct instance *instance, int ifindex, uint32_t wanted)
{
	const char *device = instance->device;
	struct dispatched old;
	int ret = dispatched_read(device, wanted, &old);

	if (ret)
		return xdp_report(device, ret);
	if (!old.count) /* somebody was faster */
		return report_closed(device, -ESTALE);
	ret = dispatched_add(instance, ifindex, old.mode);
	if (ret)
		return ret;
	for (int i = 0; ret >= 0 && i < old.count; i++)
		ret = one_detach(device, wanted, old.ids[i]);
	xdp_remains_clear(instance->path, dispatcher_id(ifindex));
	if (ret >= 0) /* 1: somebody else took it off */
		return 0;
	fail("%s: the program before could not be taken off: %s: it runs beside the new one, and a "
	     "packet is charged twice: `rlctl attach %s --replace` again",
	     device, strerror(-ret), device);
	return ret;
}

int xdp_program_replace(const struct instance *instance, uint32_t wanted)
{
	int ifindex = if_nametoindex(instance->device);
	struct device_program old;

	if (lone_program_find(ifindex, wanted, &old))
		return lone_replace(instance, ifindex, &old);
	return dispatched_replace(instance, ifindex, wanted);
}

/* ---- what a dispatcher leaves that was taken off the device by force, or went with it: libxdp's
 * pins, which keep the programs behind it loaded, and ours has all of our maps */

static bool pin_uses(const char *path, uint32_t wanted)
{
	int fd = bpf_obj_get(path);
	uint32_t id;
	bool uses = program_uses(fd, wanted, &id);

	if (fd >= 0)
		close(fd);
	return uses;
}

/* Calls for each pin of a dispatcher's folder, until one answers true. */
static bool pins_any(const char *folder, bool (*is)(const char *path, uint32_t wanted),
		     uint32_t wanted)
{
	char path[INSTANCE_PATH_MAX + 544];
	struct dirent *entry;
	DIR *dir = opendir(folder);
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		found = entry->d_name[0] != '.' && is(path, wanted);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool pin_remove(const char *path, uint32_t wanted __attribute__((unused)))
{
	unlink(path);
	return false;
}

/* Of a dispatcher other than this one. */
static bool is_remains(const char *name, uint32_t living)
{
	uint32_t ifindex, id;

	return sscanf(name, "dispatch-%u-%u", &ifindex, &id) == 2 && id != living;
}

void xdp_remains_clear(const char *path, uint32_t living)
{
	char bpffs[INSTANCE_PATH_MAX], all[INSTANCE_PATH_MAX + 8], folder[INSTANCE_PATH_MAX + 280];
	struct dirent *entry;
	uint32_t policy;
	int lock;
	DIR *dir;

	if (pins_policy_id(path, &policy))
		return;
	snprintf(bpffs, sizeof(bpffs), "%s", path);
	for (int i = 0; i < 3; i++) /* rlctl/NETNS/DEVICE-HOOK */
		*strrchr(bpffs, '/') = '\0';
	snprintf(all, sizeof(all), "%s/xdp", bpffs);
	/* As libxdp does, which pins a dispatcher before it is used. */
	lock = pins_lock(all, false);
	dir = opendir(all);
	while (dir && (entry = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%s/%s", all, entry->d_name);
		if (!is_remains(entry->d_name, living) || !pins_any(folder, pin_uses, policy))
			continue;
		pins_any(folder, pin_remove, 0);
		rmdir(folder);
	}
	if (dir)
		closedir(dir);
	if (lock >= 0)
		close(lock);
}
