// SPDX-License-Identifier: GPL-2.0-only
/* XDP programs through libxdp: attach, find, replace, detach. */

#include "kernel/attach/xdp.h"

#include <errno.h>
#include <linux/if_link.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/message.h"
#include "kernel/attach/object.h"
#include "kernel/device/device.h"
#include "kernel/failures.h"
#include "kernel/instance/liveness.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"
#include "rlctl.skel.h"

#define DISPATCHER     "xdp_dispatcher" /* name of libxdp's dispatcher */
#define RUN_PRIORITY   10               /* before other XDP programs, which get what we pass */
#define DISPATCHED_MAX 16               /* libxdp's dispatcher holds 10 */

/* ---- finding our program */

int xdp_device_program(int ifindex, struct device_program *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int ret = bpf_xdp_query(ifindex, 0, &query);

	*out = (struct device_program){
		.id = query.prog_id,
		.mode = query.attach_mode == XDP_ATTACHED_DRV ? RL_MODE_NATIVE : RL_MODE_GENERIC};
	return ret;
}

/* Finds a program attached without a dispatcher, without libxdp: version 1.3.1 leaks a descriptor
 * for each such query. As program_uses. */
static int lone_program_find(int ifindex, uint32_t wanted, struct device_program *out)
{
	struct device_program found;
	int ret = xdp_device_program(ifindex, &found);

	if (ret || !found.id)
		return ret == -ENODEV ? 0 : ret;
	out->mode = found.mode;
	return program_id_uses(found.id, wanted, &out->id);
}

/* True also if the device cannot be queried. */
static bool has_dispatcher(int ifindex)
{
	struct device_program found;
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int ret = xdp_device_program(ifindex, &found);

	if (ret || !found.id)
		return ret && ret != -ENODEV;
	CLOSED int fd = bpf_prog_get_fd_by_id(found.id);
	if (fd < 0)
		return fd != -ENOENT;
	return bpf_obj_get_info_by_fd(fd, &info, &size) || !strcmp(info.name, DISPATCHER);
}

/* Opens libxdp's dispatcher; -ENOENT if there is none. libxdp treats a dispatcher that it cannot
 * read as absent or as an ordinary program, so that is checked again. */
static int multiprog_open(int ifindex, struct xdp_multiprog **out)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	int ret = libxdp_get_error(mp);

	if (!ret && !xdp_multiprog__is_legacy(mp)) {
		*out = mp;
		return 0;
	}
	if (!ret)
		xdp_multiprog__close(mp);
	if (ret && ret != -ENOENT)
		return ret;
	return has_dispatcher(ifindex) ? -EAGAIN : -ENOENT;
}

/* Is the program ours? If *id is not 0, it must have that id; otherwise *id is set. As
 * program_uses. */
static int is_ours(const struct xdp_program *program, uint32_t wanted, uint32_t *id)
{
	uint32_t found;
	int ret = program_uses(xdp_program__fd(program), wanted, &found);

	if (ret <= 0 || (*id && *id != found))
		return ret < 0 ? ret : 0;
	*id = found;
	return 1;
}

/* Finds our program in the dispatcher; -ENOENT if there is none. */
static int multiprog_find(struct xdp_multiprog *mp, uint32_t wanted, uint32_t *id,
			  struct xdp_program **out)
{
	struct xdp_program *program = NULL;

	while ((program = xdp_multiprog__next_prog(program, mp))) {
		int ret = is_ours(program, wanted, id);

		*out = program;
		if (ret)
			return ret < 0 ? ret : 0;
	}
	return -ENOENT;
}

int xdp_program_find(const char *device, uint32_t wanted, struct device_program *out)
{
	int ifindex = device_index(device), ret;
	struct xdp_program *program;
	struct xdp_multiprog *mp;

	if (ifindex < 0)
		return ifindex == -ENODEV ? -ENOENT : ifindex;
	ret = lone_program_find(ifindex, wanted, out);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = multiprog_open(ifindex, &mp);
	if (ret)
		return ret;
	out->id = 0; /* any */
	ret = multiprog_find(mp, wanted, &out->id, &program);
	out->mode = xdp_multiprog__attach_mode(mp) == XDP_MODE_NATIVE ? RL_MODE_NATIVE
								      : RL_MODE_GENERIC;
	xdp_multiprog__close(mp);
	return ret;
}

/* ---- attach */

/* Does the kernel load the program at all? Tried after a failed attach, to explain it. Else reports
 * why not. */
static int load_check(const char *path, const char *device, const struct rl_instance *info)
{
	struct rlctl_bpf *skel;
	int ret = object_open_pinned(path, info, true, &skel);

	if (ret)
		return report_program_refused(path, device, info, ret);
	rlctl_bpf__destroy(skel);
	return 0;
}

static int xdp_attach_mode(const char *path, const struct rl_instance *info, int ifindex,
			   enum xdp_attach_mode mode)
{
	struct xdp_program *program;
	struct rlctl_bpf *skel;
	int ret = dispatchers_are_foreign(path) ? -PINS_FOREIGN
						: object_open_pinned(path, info, false, &skel);

	if (ret)
		return ret;
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = skel->obj, .prog_name = "rlctl_xdp");
	program = xdp_program__create(&opts);
	ret = libxdp_get_error(program);
	if (!ret) {
		xdp_program__set_run_prio(program, RUN_PRIORITY);
		ret = xdp_program__attach(program, ifindex, mode, 0);
		if (!ret)
			owner_record_write(path, info, program_id(xdp_program__fd(program)));
		xdp_program__close(program);
	}
	rlctl_bpf__destroy(skel);
	return ret;
}

static uint32_t flags_of(const struct device_program *program)
{
	return program->mode == RL_MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

/* ---- attach without a dispatcher. Kernels since 6.13 refuse a program that changes frames behind
 * a dispatcher that does not (that of old versions of libxdp), even where it never would: such a
 * program stands alone, where it can. */

/* The program takes the place of `old` at once, if that is still there, or of none (id 0). */
static int lone_put(const char *path, const struct rl_instance *info, int ifindex,
		    const struct device_program *old)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	CLOSED int fd = old->id ? bpf_prog_get_fd_by_id(old->id) : -ENOENT;
	uint32_t flags = flags_of(old);
	struct rlctl_bpf *skel;
	int ret, program;

	if (old->id && fd < 0)
		return fd;
	ret = object_open_pinned(path, info, true, &skel);
	if (ret)
		return ret;
	opts.old_prog_fd = old->id ? fd : 0;
	flags |= old->id ? XDP_FLAGS_REPLACE : XDP_FLAGS_UPDATE_IF_NOEXIST;
	program = bpf_program__fd(skel->progs.rlctl_xdp);
	ret = bpf_xdp_attach(ifindex, program, flags, &opts);
	if (!ret)
		owner_record_write(path, info, program_id(program));
	rlctl_bpf__destroy(skel);
	return ret;
}

/* May the dispatcher be why the program was refused? */
static bool may_stand_alone(const struct rl_instance *info, int error)
{
	return error == -PINS_FOREIGN || (error == -EINVAL && info->program_uses & RL_USE_ANSWERS);
}

/* error: that of an attempt with the dispatcher. Where the kernel does not take it, as where
 * it has no freplace programs, libxdp attaches ours alone by itself. */
static void alone_note(const char *device, int error)
{
	const char *why = "which libxdp could not use";

	if (error == -EINVAL)
		why = "behind which this kernel takes no program that sends answers";
	else if (error)
		why = "whose directory in the bpffs, xdp, belongs to another user, or others may "
		      "write to it: find out who created it, and remove it";
	note("%s: the program is attached without libxdp's dispatcher, %s: " XDP_ALONE_TEXT, device,
	     why);
}

static int report_not_alone(const char *device)
{
	fail("%s: `over challenge` and `over truncate`: behind libxdp's dispatcher this kernel "
	     "takes no program that sends answers, and without it, other XDP programs are in the "
	     "way: do without these words, or detach the others (`xdp-loader status %s` shows "
	     "them), or use a newer libxdp",
	     device, device);
	return -EBUSY;
}

/* Another program is there: perhaps one of ours, which came along with the device. */
static int report_taken(const char *path, const char *device, int ifindex, int error)
{
	char bpffs[INSTANCE_PATH_MAX], pins[INSTANCE_PATH_MAX];
	struct device_program there;

	pins_parent(path, PINS_LEVELS, bpffs);
	if ((error != -EBUSY && error != -EEXIST) || xdp_device_program(ifindex, &there) ||
	    !program_pins_find(bpffs, there.id, pins))
		return report_xdp_error(device, error);
	fail("%s: the program on it is rlctl's, attached in another network namespace, with pins at "
	     "%s: move the device back to detach it there, or take it off (`ip link set dev %s xdp "
	     "off`), and attach again",
	     device, pins, device);
	return error;
}

int xdp_program_attach(const char *path, const struct rl_instance *info, const char *device,
		       enum attach_mode mode)
{
	static bool without; /* libxdp found that this kernel takes no dispatcher */
	const struct device_program none = {.mode = info->mode};
	bool generic = info->mode == RL_MODE_GENERIC;
	int ret = without ? lone_put(path, info, info->ifindex, &none)
			  : xdp_attach_mode(path, info, info->ifindex,
					    generic ? XDP_MODE_SKB : XDP_MODE_NATIVE);
	int refused = ret ? load_check(path, device, info) : 0, tried = ret;

	if (refused)
		return refused;
	if (may_stand_alone(info, tried)) {
		ret = lone_put(path, info, info->ifindex, &none);
		if (tried == -EINVAL && (ret == -EBUSY || ret == -EEXIST))
			return report_not_alone(device);
	}
	if (!ret && !has_dispatcher((int)info->ifindex)) {
		alone_note(device, tried);
		without |= !tried;
	}
	if (!ret && generic)
		note("%s: generic mode counts merged packets as one (merged by GRO below a bridge "
		     "or a VLAN, or by offloads of the other side of a veth or virtual device): a "
		     "limit in packets may pass 64 times as many: --mode auto counts each packet",
		     device);
	if (ret && mode == ATTACH_AUTO && ret != -EBUSY && ret != -EEXIST && ret != -EPERM &&
	    ret != -EACCES && ret != -ENODEV) {
		note("%s: native XDP is not possible (%s): falling back to mode tc, whose program "
		     "at ingress sees a packet only after the kernel has allocated it",
		     device, native_error_text(ret));
		return ATTACH_FALLS_BACK;
	}
	return ret ? report_taken(path, device, info->ifindex, ret) : 0;
}

/* ---- detach */

/* Detaches one of our programs, only that with the id unless it is 0; 1 if there is none. One
 * without a dispatcher is detached only if it is still the one that was found. */
static int one_detach(const char *device, uint32_t wanted, uint32_t id)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int ifindex = device_index(device), ret;
	struct device_program lone = {0};
	struct xdp_program *program;
	struct xdp_multiprog *mp;

	if (ifindex < 0)
		return ifindex == -ENODEV ? 1 : ifindex;
	ret = lone_program_find(ifindex, wanted, &lone);
	if (ret > 0 && (!id || id == lone.id)) {
		CLOSED int fd = opts.old_prog_fd = bpf_prog_get_fd_by_id(lone.id);

		return fd < 0 ? fd : bpf_xdp_detach(ifindex, flags_of(&lone), &opts);
	}
	ret = ret ? ret : multiprog_open(ifindex, &mp);
	if (ret)
		return ret == -ENOENT ? 1 : ret;
	ret = multiprog_find(mp, wanted, &id, &program);
	if (!ret)
		ret = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(mp), 0);
	else if (ret == -ENOENT)
		ret = 1;
	xdp_multiprog__close(mp);
	return ret;
}

/* Detaches all our programs: there are two after an interrupted replacement. */
int xdp_program_detach(const char *device, uint32_t wanted)
{
	int ret = 0;

	for (int i = 0; !ret && i < DISPATCHED_MAX; i++)
		ret = one_detach(device, wanted, 0);
	return ret > 0 ? 0 : ret;
}

/* ---- replace */

struct dispatched {
	struct device_program dispatcher;
	enum xdp_attach_mode mode;
	uint32_t ids[DISPATCHED_MAX]; /* ours */
	int count;
	bool others; /* has programs of others */
};

static int dispatched_read(const char *device, uint32_t wanted, struct dispatched *out)
{
	struct xdp_program *program = NULL;
	struct xdp_multiprog *mp;
	int ifindex = device_index(device);
	int ret = ifindex < 0 ? ifindex : multiprog_open(ifindex, &mp);

	if (ret)
		return ret;
	*out = (struct dispatched){.mode = xdp_multiprog__attach_mode(mp)};
	out->dispatcher.id = xdp_program__id(xdp_multiprog__main_prog(mp));
	out->dispatcher.mode = out->mode == XDP_MODE_NATIVE ? RL_MODE_NATIVE : RL_MODE_GENERIC;
	while (out->count < DISPATCHED_MAX && (program = xdp_multiprog__next_prog(program, mp))) {
		uint32_t id = 0;

		if (is_ours(program, wanted, &id) > 0)
			out->ids[out->count++] = id;
		else
			out->others = true;
	}
	xdp_multiprog__close(mp);
	return 0;
}

/* The new program takes the place of the dispatcher, if that has none but ours. */
static int dispatcher_replace(const struct instance *instance, int ifindex,
			      const struct dispatched *old)
{
	int ret = load_check(instance->path, instance->device, &instance->info);

	if (ret)
		return ret;
	if (!old->others)
		ret = lone_put(instance->path, &instance->info, ifindex, &old->dispatcher);
	if (old->others || ret == -EBUSY || ret == -EEXIST) /* or one has come meanwhile */
		return report_not_alone(instance->device);
	if (ret)
		return report_xdp_error(instance->device, ret);
	replaced_dispatcher_remove(instance->path, ifindex, old->dispatcher.id);
	alone_note(instance->device, -EINVAL);
	return 0;
}

/* In a dispatcher, attaches the new program beside the old one, then detaches that. Meanwhile a
 * packet that both pass is charged twice. */
static int dispatched_replace(const struct instance *instance, int ifindex, uint32_t wanted)
{
	const char *device = instance->device;
	struct dispatched old;
	int ret = dispatched_read(device, wanted, &old);

	if (ret)
		return report_xdp_error(device, ret);
	if (!old.count) /* detached meanwhile */
		return report_open_error(device, RL_HOOK_XDP, -ESTALE);
	ret = xdp_attach_mode(instance->path, &instance->info, ifindex, old.mode);
	if (may_stand_alone(&instance->info, ret))
		return dispatcher_replace(instance, ifindex, &old);
	if (ret)
		return load_check(instance->path, device, &instance->info)
			       ?: report_xdp_error(device, ret);
	for (int i = 0; ret >= 0 && i < old.count; i++)
		ret = one_detach(device, wanted, old.ids[i]);
	stale_dispatchers(instance->path, true);
	if (ret >= 0) /* 1: already detached */
		return 0;
	fail("%s: detaching the previous program failed: %s: it runs beside the new one, and "
	     "packets are charged twice: run `rlctl attach %s --replace` again",
	     device, strerror(-ret), device);
	return ret;
}

int xdp_program_replace(const struct instance *instance, uint32_t wanted)
{
	const char *path = instance->path, *device = instance->device;
	int ifindex = device_index(device), ret = ifindex;
	struct device_program old = {0};

	if (ifindex > 0)
		ret = lone_program_find(ifindex, wanted, &old);
	if (ret < 0)
		return report_xdp_error(device, ret);
	if (!ret)
		return dispatched_replace(instance, ifindex, wanted);
	ret = lone_put(path, &instance->info, ifindex, &old);
	if (!ret)
		return 0;
	return load_check(path, device, &instance->info) ?: report_xdp_error(device, ret);
}
