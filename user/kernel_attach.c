// SPDX-License-Identifier: GPL-2.0-only
/* Programs on devices: attach, detach, and finding ours among others. Maps are made, pinned and
 * given their policy before anything touches the device; attaching is the last step, so what a
 * crash leaves is either nothing on the device, or an instance that works.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "kernel_internal.h"
#include "output.h"
#include "probe.skel.h"
#include "rlctl.skel.h"

#define RUN_PRIORITY     10 /* before other XDP programs: they get what we let through */
#define TICKS_TO_MEASURE 4
#define EDGE_GAP_NS      20000 /* reading the clocks twice takes a few microseconds */

/* ---- whose program is on the device */

bool program_uses(int fd, uint32_t wanted, uint32_t *id)
{
	uint32_t maps[64] = {0};
	struct bpf_prog_info info = {.nr_map_ids = 64, .map_ids = (uint64_t)(uintptr_t)maps};
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return false;
	*id = info.id;
	for (uint32_t i = 0; i < info.nr_map_ids && i < 64; i++)
		if (maps[i] == wanted)
			return true;
	return false;
}

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

/* Ours among those on the device: behind libxdp's dispatcher, or alone without one. */
static struct xdp_program *multiprog_find(struct xdp_multiprog *mp, uint32_t wanted, uint32_t *id)
{
	struct xdp_program *program = NULL;

	if (xdp_multiprog__is_legacy(mp)) {
		program = xdp_multiprog__main_prog(mp);
		return program && program_uses(xdp_program__fd(program), wanted, id) ? program
										     : NULL;
	}
	while ((program = xdp_multiprog__next_prog(program, mp)))
		if (program_uses(xdp_program__fd(program), wanted, id))
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

	if (bpf_xdp_query(ifindex, 0, &query) || !query.prog_id)
		return false;
	fd = bpf_prog_get_fd_by_id(query.prog_id);
	found = program_uses(fd, wanted, &out->id);
	out->native = query.attach_mode == XDP_ATTACHED_DRV;
	if (fd >= 0)
		close(fd);
	return found;
}

int device_program_find(const char *device, uint32_t wanted, struct device_program *out)
{
	struct xdp_multiprog *mp;
	int ret;

	if (lone_program_find(if_nametoindex(device), wanted, out))
		return 0;
	ret = multiprog_open(device, &mp);
	if (ret)
		return ret;
	if (multiprog_find(mp, wanted, &out->id))
		out->native = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE;
	else
		ret = -ENOENT;
	xdp_multiprog__close(mp);
	return ret;
}

int pins_program_find(const char *path, const char *device, struct device_program *out)
{
	uint32_t policy;
	int ret = pins_policy_id(path, &policy);

	return ret ? ret : device_program_find(device, policy, out);
}

/* ---- the clocks */

static int clocks_read(int fd, struct rl_clocks *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = out, .ctx_size_in = sizeof(*out));

	return bpf_prog_test_run_opts(fd, &opts);
}

/* Waits for the next tick and reads the clocks right after it. A tick during which this process did
 * not run is not that: another one is waited for, with ever more patience on slow machines. */
static int clocks_edge(int fd, struct rl_clocks *out)
{
	uint64_t gap_ns = EDGE_GAP_NS;
	int ret = clocks_read(fd, out);

	while (!ret) {
		struct rl_clocks before = *out;

		ret = clocks_read(fd, out);
		if (out->jiffies == before.jiffies)
			continue;
		if (out->monotonic_ns - before.monotonic_ns <= gap_ns)
			break;
		gap_ns *= 2;
	}
	return ret;
}

/* The length of a tick is the resolution of the coarse clock, which ticks with jiffies. The offset:
 * an edge is seen late, never early, so the least one is the truest. */
static int ticks_measure(__u64 *tick_ns, __u64 *base_ns)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	struct timespec tick;
	struct rl_clocks edge;
	int ret = probe ? 0 : -errno;

	if (!ret && clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		ret = -errno;
	for (int i = 0; !ret && i < TICKS_TO_MEASURE; i++) {
		uint64_t base;

		ret = clocks_edge(bpf_program__fd(probe->progs.probe_clocks), &edge);
		if (ret)
			break;
		*tick_ns = tick.tv_sec * 1000000000ull + tick.tv_nsec;
		base = edge.monotonic_ns - edge.jiffies * *tick_ns;
		if (!i || (int64_t)(base - *base_ns) < 0)
			*base_ns = base;
	}
	probe_bpf__destroy(probe);
	return ret;
}

/* ---- the object, opened twice: the first time makes the maps alone, the second, through libxdp,
 * finds them by their pins */

static int maps_make(const char *path, const struct rl_instance *info)
{
	struct rlctl_bpf *skel = object_open(info);
	uint32_t zero = 0;
	int ret;

	if (!skel)
		return -errno;
	ret = object_pin_paths(skel, path);
	if (!ret)
		ret = bpf_program__set_autoload(skel->progs.rlctl_xdp, false);
	if (!ret)
		ret = rlctl_bpf__load(skel);
	if (!ret)
		ret = bpf_map_update_elem(bpf_map__fd(skel->maps.instance), &zero, info, BPF_ANY);
	rlctl_bpf__destroy(skel);
	return ret;
}

/* Does the kernel take the program at all? Asked where attaching failed, to tell why. */
static int program_try(const char *path, const struct rl_instance *info)
{
	struct rlctl_bpf *skel = object_open(info);
	int ret;

	if (!skel)
		return -errno;
	ret = object_pin_paths(skel, path);
	if (!ret)
		ret = rlctl_bpf__load(skel);
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

/* ---- attach */

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

static int report_attach(const char *device, int error)
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

static int report_load(const char *device, int error)
{
	fail("%s: loading failed: %s%s (-v shows what the kernel said)", device, strerror(-error),
	     error == -ENOMEM || error == -E2BIG
		     ? ": smaller --sources or --prefixes need less memory"
		     : "");
	return error;
}

static int attach_any_mode(const char *path, struct rl_instance *info, const char *device,
			   enum attach_mode mode)
{
	int ifindex = info->ifindex;
	int ret = -EOPNOTSUPP;

	if (mode != ATTACH_GENERIC)
		ret = xdp_attach_mode(path, info, ifindex, XDP_MODE_NATIVE);
	if (ret && mode != ATTACH_GENERIC) {
		int refused = program_try(path, info);

		if (refused)
			return report_load(device, refused);
	}
	if (ret && ret != -EBUSY && ret != -EEXIST && mode != ATTACH_NATIVE) {
		if (mode == ATTACH_AUTO)
			note("%s: native mode is not possible (%s): fell back to generic mode, "
			     "which "
			     "sees a packet only after the kernel has allocated it",
			     device, native_remedy(ret));
		ret = xdp_attach_mode(path, info, ifindex, XDP_MODE_SKB);
	}
	return ret ? report_attach(device, ret) : 0;
}

static int info_make(const struct target *target, const struct attach_options *options,
		     const struct policy_context *text, struct rl_instance *out)
{
	int ret;

	*out = (struct rl_instance){
		.abi_version = RL_ABI_VERSION,
		.hook = RL_HOOK_XDP,
		.by_dest = options->by_dest,
		.mtu = text->mtu,
		.ifindex = if_nametoindex(target->device),
		.since_ns = clock_ns(CLOCK_REALTIME),
		.sources = options->sources,
		.prefixes = options->prefixes,
		.table = options->table,
		.log_depth = options->log_depth,
		.cpus = libbpf_num_possible_cpus(),
	};
	instance_sizes(out);
	if (getrandom(out->hot_seed, sizeof(out->hot_seed), 0) != sizeof(out->hot_seed)) {
		fail("no random seed: %s", strerror(errno));
		return -EIO;
	}
	if (!out->ifindex) {
		fail("%s: no such device: `ip link` shows which there are", target->device);
		return -ENODEV;
	}
	ret = ticks_measure(&out->tick_ns, &out->tick_base_ns);
	if (ret)
		fail("%s: a BPF program could not be run: %s%s", target->device, strerror(-ret),
		     ret == -EPERM ? ": rlctl needs root" : "");
	return ret;
}

/* Everything but the device: maps, pins, policy. */
static int instance_make(const char *path, const char *device, const struct rl_instance *info,
			 struct policy *policy)
{
	struct instance instance;
	int ret = maps_make(path, info);

	if (ret)
		return report_load(device, ret);
	ret = instance_open_path(path, device, &instance);
	if (ret) {
		fail("%s: the maps just made are not there: %s", device, strerror(-ret));
		return ret;
	}
	ret = instance_policy_write(&instance, policy, false, NULL);
	instance_close(&instance);
	return ret;
}

/* With the lock held: clears what a crash left; refuses where an instance lives. */
static int place_clear(const char *path, const char *device)
{
	struct device_program program;
	int ret = pins_program_find(path, device, &program);

	if (!ret) {
		fail("%s: already attached (program %u): `rlctl detach %s` first", device,
		     program.id, device);
		return -EEXIST;
	}
	if (ret != -ENOENT)
		return report_attach(device, ret);
	pins_clear(path);
	return 0;
}

int instance_attach(const struct target *target, const struct attach_options *options,
		    struct policy *policy, const struct policy_context *text)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct rl_instance info;
	int lock, ret = pins_root(target->bpffs, root);

	if (!ret)
		ret = info_make(target, options, text, &info);
	if (!ret)
		ret = pins_path(root, target->device, RL_HOOK_XDP, path);
	if (ret)
		return ret;
	setenv("LIBXDP_BPFFS", target->bpffs, 1);
	pins_sweep(root);
	lock = pins_lock(path, true);
	if (lock < 0) {
		fail("%s: %s", path, strerror(-lock));
		return lock;
	}
	ret = place_clear(path, target->device);
	if (ret)
		goto out;
	ret = instance_make(path, target->device, &info, policy);
	if (!ret)
		ret = attach_any_mode(path, &info, target->device, options->mode);
	if (ret)
		pins_remove(path);
out:
	close(lock);
	return ret;
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

static int program_detach(const char *device, uint32_t wanted)
{
	int ifindex = if_nametoindex(device);
	struct xdp_multiprog *mp;
	struct xdp_program *program;
	uint32_t id;
	int ret = multiprog_open(device, &mp);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	program = multiprog_find(mp, wanted, &id);
	if (program && xdp_multiprog__is_legacy(mp))
		ret = legacy_detach(ifindex, mp, program);
	else if (program)
		ret = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(mp), 0);
	xdp_multiprog__close(mp);
	return ret;
}

int instance_detach(const struct target *target)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	uint32_t policy;
	int lock, ret = pins_root(target->bpffs, root);

	if (!ret)
		ret = pins_path(root, target->device, target->hook < 0 ? 0 : target->hook, path);
	if (ret)
		return ret;
	setenv("LIBXDP_BPFFS", target->bpffs, 1);
	pins_sweep(root);
	lock = pins_lock(path, false);
	if (lock < 0) {
		fail("%s: %s", target->device,
		     lock == -ENOENT ? "nothing of ours is attached there" : strerror(-lock));
		return lock;
	}
	ret = pins_policy_id(path, &policy);
	if (!ret)
		ret = program_detach(target->device, policy);
	if (ret == -ENOENT)
		ret = 0; /* half made, and never on the device */
	if (ret)
		fail("%s: detaching failed: %s%s", target->device, strerror(-ret),
		     ret == -EPERM ? ": rlctl needs root" : "");
	else
		pins_remove(path);
	close(lock);
	return ret;
}
