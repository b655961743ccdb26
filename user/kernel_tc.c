// SPDX-License-Identifier: GPL-2.0-only
/* tc programs on devices, by clsact and cls_bpf in direct action: attach, detach, and finding ours
 * among the filters of others. A packet that we let through goes on to the filters behind ours.
 */
#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_internal.h"
#include "netlink_tc.h"
#include "output.h"
#include "rlctl.skel.h"

#define PRIORITY                                                                         \
	10u /* or the nearest before it that nobody has: before the filters that tc adds \
	     */

/* ---- filters on a hook */

static uint32_t parent_of(enum rl_hook hook)
{
	return TC_H_MAKE(TC_H_CLSACT, hook == RL_HOOK_INGRESS ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
}

static int filters_read(int ifindex, enum rl_hook hook,
			int (*each)(const struct nlmsghdr *message, void *arg), void *arg)
{
	struct tc_request request = tc_request_make(RTM_GETTFILTER, NLM_F_DUMP, ifindex);

	request.tc.tcm_parent = parent_of(hook);
	return tc_request_send(&request, each, arg);
}

static int filter_count(const struct nlmsghdr *message, void *arg)
{
	*(uint32_t *)arg += message->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

int tc_filters_on(int ifindex, enum rl_hook hook)
{
	uint32_t count = 0;
	int ret = filters_read(ifindex, hook, filter_count, &count);

	return ret ? ret : (int)count;
}

/* Which of the priorities up to PRIORITY have filters. */
static int priority_note(const struct nlmsghdr *message, void *arg)
{
	const struct tcmsg *tc = NLMSG_DATA(message);
	uint32_t priority = TC_H_MAJ(tc->tcm_info) >> 16;

	if (message->nlmsg_type == RTM_NEWTFILTER && priority <= PRIORITY)
		*(uint32_t *)arg |= 1u << priority;
	return 0;
}

/* Where all are in use the kernel chooses: 0. */
static uint32_t priority_choose(int ifindex, enum rl_hook hook)
{
	uint32_t used = 0, priority = PRIORITY;

	filters_read(ifindex, hook, priority_note, &used);
	while (priority && used & 1u << priority)
		priority--;
	return priority;
}

struct search {
	uint32_t wanted;  /* a map */
	uint32_t program; /* or, where that is not 0, this very one */
	bool by_name;     /* or one that is called like ours */
	struct device_program *out;
};

/* Is the program of the number in *out ours? As program_uses. */
static int search_fits(const struct search *search)
{
	uint32_t program = search->out->id;
	int fd, ret;

	if (search->program)
		return program == search->program;
	fd = bpf_prog_get_fd_by_id(program);
	ret = program_uses(fd, search->wanted, &search->out->id);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* As libbpf calls a filter: after its program, with the number behind it. */
static bool is_named_like_ours(const struct rtattr *options)
{
	static const char ours[] = "rlctl_tc:";
	const struct rtattr *name = tc_attribute_in(options, TCA_BPF_NAME);

	return name && RTA_PAYLOAD(name) >= sizeof(ours) &&
	       !strncmp(RTA_DATA(name), ours, sizeof(ours) - 1);
}

/* 1 where it is ours. */
static int filter_match(const struct nlmsghdr *message, void *arg)
{
	const struct rtattr *options = tc_attribute(message, TCA_OPTIONS);
	const struct rtattr *id = options ? tc_attribute_in(options, TCA_BPF_ID) : NULL;
	const struct rtattr *kind = tc_attribute(message, TCA_KIND);
	const struct tcmsg *tc = NLMSG_DATA(message);
	struct search *search = arg;

	if (message->nlmsg_type != RTM_NEWTFILTER || !id || RTA_PAYLOAD(id) != sizeof(uint32_t) ||
	    !kind || strncmp(RTA_DATA(kind), "bpf", RTA_PAYLOAD(kind)) != 0)
		return 0;
	search->out->priority = TC_H_MAJ(tc->tcm_info) >> 16;
	search->out->handle = tc->tcm_handle;
	search->out->id = *(uint32_t *)RTA_DATA(id);
	return search->by_name ? is_named_like_ours(options) : search_fits(search);
}

static int filter_search(const char *device, enum rl_hook hook, struct search *search)
{
	int ifindex = device_index(device), ret;

	if (ifindex < 0)
		return ifindex == -ENODEV ? -ENOENT : ifindex;
	ret = filters_read(ifindex, hook, filter_match, search);
	if (ret > 0)
		return 0;
	/* EINVAL: there is no clsact; ENODEV: no device any more. */
	return ret && ret != -EINVAL && ret != -ENODEV ? ret : -ENOENT;
}

int tc_program_find(const char *device, enum rl_hook hook, uint32_t wanted,
		    struct device_program *out)
{
	struct search search = {.wanted = wanted, .out = out};

	return filter_search(device, hook, &search);
}

/* While one replaces another, and where none could be noted, any that is called like ours may be
 * it: what lives is not called gone. */
int tc_program_noted(const char *device, enum rl_hook hook, uint32_t program,
		     struct device_program *out)
{
	struct search search = {.program = program, .by_name = !program, .out = out};

	return filter_search(device, hook, &search);
}

/* ---- attach */

static enum bpf_tc_attach_point point_of(enum rl_hook hook)
{
	return hook == RL_HOOK_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS;
}

int tc_report(const char *device, int error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		fail("%s: attaching was refused: %s: that needs root", device, strerror(-error));
		break;
	case -ENOENT:
	case -EOPNOTSUPP:
		fail("%s: the kernel has no clsact or no cls_bpf: `modprobe -a sch_ingress "
		     "cls_bpf`",
		     device);
		break;
	case -ENODEV:
		fail("%s: the device is gone: `ip link` shows which there are", device);
		break;
	default:
		fail("%s: attaching failed: %s", device, strerror(-error));
	}
	return error;
}

/* The kernel's answer has the program's number: nothing more can fail before that is known. */
static int filter_add(struct rlctl_bpf *skel, const struct rl_instance *info, uint32_t *program)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = info->ifindex,
		    .attach_point = point_of(info->hook));
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(skel->progs.rlctl_tc),
		    .priority = priority_choose(info->ifindex, info->hook));
	int ret = bpf_tc_attach(&hook, &opts);

	if (!ret)
		*program = opts.prog_id;
	return ret;
}

int tc_program_attach(const char *root, const char *path, struct rl_instance *info,
		      const char *device)
{
	struct rlctl_bpf *skel;
	uint32_t program;
	int lock, ret = object_load_pinned(path, info, &skel);

	if (ret)
		return report_refused(device, info, REFUSED_PROGRAM, ret);
	lock = pins_lock(root, true); /* the other hook's clsact is this one's */
	ret = lock < 0 ? lock : clsact_make(device, info, bpf_map__fd(skel->maps.instance));
	if (!ret)
		ret = filter_add(skel, info, &program);
	if (!ret)
		ret = program_note_write(path, info, program);
	if (lock >= 0)
		close(lock);
	rlctl_bpf__destroy(skel);
	return ret && ret != -EEXIST ? tc_report(device, ret) : ret;
}

/* ---- detach */

/* Between the look and the deed somebody may have put another filter in its place; handles are not
 * used again so soon. */
int tc_program_detach(const char *device, enum rl_hook hook, uint32_t wanted)
{
	LIBBPF_OPTS(bpf_tc_hook, where, .ifindex = if_nametoindex(device),
		    .attach_point = point_of(hook));
	struct device_program program;
	int ret = tc_program_find(device, hook, wanted, &program);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = program.handle, .priority = program.priority);
	ret = bpf_tc_detach(&where, &opts);
	return ret == -ENODEV || ret == -ENOENT ? 0 : ret;
}

/* ---- replace: the filter stays, with its handle and its priority, and gets another program */

int tc_program_replace(const struct instance *instance, uint32_t wanted)
{
	LIBBPF_OPTS(bpf_tc_hook, where, .ifindex = if_nametoindex(instance->device),
		    .attach_point = point_of(instance->info.hook));
	struct device_program old;
	struct rlctl_bpf *skel;
	int ret = tc_program_find(instance->device, instance->info.hook, wanted, &old);

	if (ret)
		return tc_report(instance->device, ret);
	ret = object_load_pinned(instance->path, &instance->info, &skel);
	if (ret)
		return report_refused(instance->device, &instance->info, REFUSED_PROGRAM, ret);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(skel->progs.rlctl_tc),
		    .handle = old.handle, .priority = old.priority, .flags = BPF_TC_F_REPLACE);
	ret = bpf_tc_attach(&where, &opts);
	rlctl_bpf__destroy(skel);
	return ret ? tc_report(instance->device, ret) : 0;
}
