// SPDX-License-Identifier: GPL-2.0-only
/* Attaches, finds, replaces and detaches programs at tc hooks: by tcx if the kernel has it (tcx.c),
 * else by clsact and cls_bpf in direct-action mode, which is here. Packets that we pass continue to
 * the programs and filters after ours. */

#include "kernel/attach/tc.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/attach/qdisc.h"
#include "kernel/device/device.h"
#include "kernel/device/netlink.h"
#include "kernel/failures.h"
#include "kernel/instance/pins.h"
#include "rlctl.skel.h"

/* Priorities before those that tc chooses; if one is taken, the nearest free one before it. The
 * filter that replaces xdp runs before that of ingress. */
#define PRIORITY     10u
#define PRIORITY_XDP 5u

/* ---- finding our program */

/* Collects the used priorities up to PRIORITY. */
static int priority_note(const struct nlmsghdr *message, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	uint32_t priority = TC_H_MAJ(tc->tcm_info) >> 16;

	if (message->nlmsg_type == RTM_NEWTFILTER && priority <= PRIORITY)
		*(uint32_t *)arg |= 1u << priority;
	return MNL_CB_OK;
}

/* Returns 0, which lets the kernel choose, if all are in use. */
static uint32_t priority_choose(const struct tc_place *place)
{
	uint32_t used = 0, priority = place->first ? PRIORITY_XDP : PRIORITY;

	tc_filters_read((int)place->ifindex, place->hook, priority_note, &used);
	while (priority && used & 1u << priority)
		priority--;
	return priority;
}

struct filter_search {
	uint32_t wanted;  /* a map */
	uint32_t program; /* if not 0, only the program with this id */
	bool by_name;     /* only by the filter's name */
	int ret;          /* 1: found; negative: the last one could not be read */
	struct device_program *out;
};

/* Stops at our filter. */
static int filter_match(const struct nlmsghdr *message, void *arg)
{
	static const char ours[] = "rlctl_tc:"; /* libbpf: the program, followed by its id */
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	const struct nlattr *kind = netlink_attribute(message, sizeof(*tc), TCA_KIND, 0);
	const struct nlattr *options = netlink_attribute(message, sizeof(*tc), TCA_OPTIONS, 0);
	const struct nlattr *id =
		options ? netlink_attribute_in(options, TCA_BPF_ID, sizeof(uint32_t)) : NULL;
	const struct nlattr *name =
		options ? netlink_attribute_in(options, TCA_BPF_NAME, sizeof(ours)) : NULL;
	struct filter_search *search = arg;

	if (message->nlmsg_type != RTM_NEWTFILTER || !id || !kind ||
	    strcmp(mnl_attr_get_str(kind), "bpf") != 0)
		return MNL_CB_OK;
	search->out->priority = TC_H_MAJ(tc->tcm_info) >> 16;
	search->out->handle = tc->tcm_handle;
	search->out->id = mnl_attr_get_u32(id);
	if (search->by_name)
		search->ret = name && !strncmp(mnl_attr_get_str(name), ours, sizeof(ours) - 1);
	else if (search->program)
		search->ret = search->out->id == search->program;
	else /* is it ours? */
		search->ret = program_id_uses(search->out->id, search->wanted, &search->out->id);
	return search->ret ? MNL_CB_STOP : MNL_CB_OK;
}

static int filter_search(int ifindex, enum rl_hook hook, struct filter_search *search)
{
	int ret;

	*search->out = (struct device_program){0};
	ret = tc_filters_read(ifindex, hook, filter_match, search) ?: search->ret;
	if (ret > 0)
		return 0;
	/* EINVAL: no clsact; ENODEV: the device is gone. */
	return ret && ret != -EINVAL && ret != -ENODEV ? ret : -ENOENT;
}

static int filter_find(int ifindex, enum rl_hook hook, uint32_t wanted, struct device_program *out)
{
	struct filter_search search = {.wanted = wanted, .out = out};

	return filter_search(ifindex, hook, &search);
}

int tc_program_find(const char *device, enum rl_hook hook, uint32_t wanted,
		    struct device_program *out)
{
	int ifindex = device_index(device), ret;

	if (ifindex < 0)
		return ifindex == -ENODEV ? -ENOENT : ifindex;
	/* Kernels that have no tcx answer without CAP_NET_ADMIN that this is not allowed. */
	ret = tcx_program_find(ifindex, hook, wanted, out);
	if (ret == -ENOENT || ret == -EPERM) {
		int filter = filter_find(ifindex, hook, wanted, out);

		ret = filter == -ENOENT ? ret : filter;
	}
	return ret;
}

uint32_t tc_program_count(const char *device, enum rl_hook hook, uint32_t wanted)
{
	int ifindex = device_index(device);
	struct device_program filter;
	struct tcx_list list;
	uint32_t count, id;

	if (ifindex < 0)
		return 0;
	count = !filter_find(ifindex, hook, wanted, &filter);
	if (!tcx_read(ifindex, hook, &list))
		for (uint32_t i = 0; i < list.count; i++)
			count += program_id_uses(list.programs[i], wanted, &id) > 0;
	return count;
}

/* While a program is being replaced, or if no id was recorded, any filter with the name of ours may
 * be it: an instance is reported missing only if it certainly is. */
int tc_recorded_program_find(const char *path, const char *device, enum rl_hook hook,
			     uint32_t program, struct device_program *out)
{
	struct filter_search search = {.program = program, .by_name = !program, .out = out};
	int ifindex = device_index(device), ret;

	if (ifindex < 0)
		return ifindex == -ENODEV ? -ENOENT : ifindex;
	ret = filter_search(ifindex, hook, &search);
	return ret == -ENOENT ? tcx_recorded_program_find(path, ifindex, hook, program, out) : ret;
}

/* ---- attach */

static enum bpf_tc_attach_point point_of(enum rl_hook hook)
{
	return hook == RL_HOOK_EGRESS ? BPF_TC_EGRESS : BPF_TC_INGRESS;
}

/* tcx programs run before clsact filters and may not pass packets on. */
static void tcx_order_note(const struct tc_place *place)
{
	struct tcx_list list;

	if (!tcx_read((int)place->ifindex, place->hook, &list) && list.count)
		note("%s: attached as a filter of clsact, which runs after %u tcx programs: "
		     "packets that one of them passes, drops or redirects are not limited: `rlctl "
		     "doctor %s` lists them",
		     place->device, list.count, place->device);
}

int tc_place_take(const struct tc_place *place, struct rl_instance *info, int info_fd,
		  int program_fd, uint32_t *program)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)place->ifindex,
		    .attach_point = point_of(place->hook));
	int lock, ret = tcx_program_attach(place, program_fd, program);

	if (ret != -EOPNOTSUPP)
		return ret;
	lock = pins_lock_all(place->pins, LOCK_WAIT_MS); /* both hooks share one clsact */
	ret = lock < 0 ? lock : clsact_make(place->device, place->hook, info, info_fd);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = program_fd,
		    .priority = ret ? 0 : priority_choose(place));
	if (!ret)
		ret = bpf_tc_attach(&hook, &opts);
	pins_unlock(lock);
	if (ret)
		return ret;
	*program = opts.prog_id; /* which the kernel's reply holds, so that nothing can fail */
	tcx_order_note(place);
	return 0;
}

/* ---- detach */

/* Another process may replace the filter between lookup and detach, but the kernel does not reuse
 * handles that soon. */
static int filter_detach(int ifindex, enum rl_hook hook, uint32_t wanted)
{
	LIBBPF_OPTS(bpf_tc_hook, where, .ifindex = ifindex, .attach_point = point_of(hook));
	struct device_program program;
	int ret = filter_find(ifindex, hook, wanted, &program);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = program.handle, .priority = program.priority);
	ret = bpf_tc_detach(&where, &opts);
	return ret == -ENODEV || ret == -ENOENT ? 0 : ret;
}

/* Both by tcx and clsact: after an interrupted replacement there may be one of each. */
int tc_program_detach(const char *device, enum rl_hook hook, uint32_t wanted)
{
	int ifindex = device_index(device), ret;

	if (ifindex < 0)
		return ifindex == -ENODEV ? 0 : ifindex;
	ret = tcx_programs_detach(ifindex, hook, wanted, 0);
	return ret ? ret : filter_detach(ifindex, hook, wanted);
}

/* ---- replace */

/* Uses tcx even if the old program is a filter, which is detached afterwards. */
int tc_place_exchange(const struct tc_place *place, uint32_t wanted, int program_fd)
{
	int ifindex = (int)place->ifindex;
	struct device_program old;
	int ret = tc_program_find(place->device, place->hook, wanted, &old);

	if (ret)
		return ret;
	ret = tcx_program_replace(place, program_fd, wanted);
	if (!ret)
		return filter_detach(ifindex, place->hook, wanted);
	if (ret != -EOPNOTSUPP || old.link)
		return ret;
	/* The filter keeps its handle and priority. */
	LIBBPF_OPTS(bpf_tc_hook, where, .ifindex = ifindex, .attach_point = point_of(place->hook));
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = program_fd, .handle = old.handle,
		    .priority = old.priority, .flags = BPF_TC_F_REPLACE);
	ret = bpf_tc_attach(&where, &opts);
	if (!ret)
		tcx_order_note(place);
	return ret;
}

int tc_program_put(const char *path, struct rl_instance *info, const char *device, uint32_t wanted)
{
	int ifindex = wanted ? device_index(device) : (int)info->ifindex, program, ret;
	const struct tc_place place = {.device = device,
				       .pins = path,
				       .ifindex = (uint32_t)ifindex,
				       .hook = tc_hook(info),
				       .first = info->hook == RL_HOOK_XDP};
	struct rlctl_bpf *skel;
	uint32_t id;

	if (ifindex < 0)
		return report_tc_error(device, ifindex);
	ret = object_open_pinned(path, info, true, &skel);
	if (ret)
		return report_program_refused(path, device, info, ret);
	program = bpf_program__fd(skel->progs.rlctl_tc);
	if (wanted)
		ret = tc_place_exchange(&place, wanted, program);
	else
		ret = tc_place_take(&place, info, bpf_map__fd(skel->maps.instance), program, &id)
			      ?: owner_record_write(path, info, id);
	rlctl_bpf__destroy(skel);
	return ret && (wanted || ret != -EEXIST) ? report_tc_error(device, ret) : ret;
}
