// SPDX-License-Identifier: GPL-2.0-only
/* The qdiscs of a device: clsact, to which tc's hooks belong, and fq, which delays packets until
 * their departure time. Each change is recorded in the instance map before it is made, so that
 * cleaning up after a crash undoes it. A qdisc that another program put in place since is left
 * alone. */

#include "kernel/attach/qdisc.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "compile/numbers.h"
#include "kernel/device/device.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"

#define FQ_HANDLE     0x726c0000u /* identifies our fq */
#define FQ_PACKETS    131072u     /* the leaky bucket limits the queue, not fq */
#define FQ_HORIZON_US 3600000000u /* how far in the future a departure time may be */

/* Classless qdiscs whose options the kernel reports in the form in which it accepts them. */
static const char *const simple[] = {"pfifo", "bfifo", "pfifo_fast", "fq_codel", "noqueue"};

/* ---- reading */

static const struct nlattr *qdisc_attribute(const struct nlmsghdr *message, uint16_t type)
{
	return netlink_attribute(message, sizeof(struct tcmsg), type, 0);
}

static bool kind_is(const struct nlmsghdr *message, const char *kind)
{
	const struct nlattr *at = qdisc_attribute(message, TCA_KIND);

	return at && !strcmp(mnl_attr_get_str(at), kind);
}

static void root_read(const struct nlmsghdr *message, struct qdiscs *out)
{
	const struct nlattr *kind = qdisc_attribute(message, TCA_KIND);
	const struct nlattr *options = qdisc_attribute(message, TCA_OPTIONS);
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	size_t size = options ? mnl_attr_get_payload_len(options) : 0;

	out->root_handle = tc->tcm_handle;
	if (kind)
		snprintf(out->root_kind, sizeof(out->root_kind), "%s", mnl_attr_get_str(kind));
	out->root_fits = size <= sizeof(out->root_options);
	out->root_size = out->root_fits ? size : 0;
	if (out->root_size)
		memcpy(out->root_options, mnl_attr_get_payload(options), size);
}

static int qdisc_read(const struct nlmsghdr *message, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	struct qdiscs *out = arg;

	if (message->nlmsg_type != RTM_NEWQDISC || tc->tcm_ifindex != out->ifindex)
		return MNL_CB_OK;
	if (tc->tcm_parent == TC_H_ROOT) {
		root_read(message, out);
	} else if (tc->tcm_parent == TC_H_CLSACT) {
		out->clsact = kind_is(message, "clsact");
		out->ingress = kind_is(message, "ingress");
	} else {
		out->children++;
		out->fq_children += kind_is(message, "fq");
	}
	return MNL_CB_OK;
}

static struct tcmsg *qdisc_start(union netlink_request *request, uint16_t type, uint16_t flags,
				 int ifindex)
{
	struct tcmsg *tc = netlink_start(request, type, flags, sizeof(*tc));

	tc->tcm_ifindex = ifindex;
	return tc;
}

int qdiscs_read(int ifindex, struct qdiscs *out)
{
	union netlink_request request;
	int ret, tries = NETLINK_TRIES;

	qdisc_start(&request, RTM_GETQDISC, NLM_F_DUMP, ifindex);
	do {
		*out = (struct qdiscs){.ifindex = ifindex};
		ret = netlink_ask(NETLINK_ROUTE, &request, qdisc_read, out);
	} while (ret == -EINTR && --tries);
	return ret;
}

static bool qdiscs_have_fq(const struct qdiscs *qdiscs)
{
	if (!strcmp(qdiscs->root_kind, "fq"))
		return true;
	return qdiscs->children && qdiscs->children == qdiscs->fq_children;
}

/* ---- fq */

/* The caller adds the options. */
static void root_start(union netlink_request *request, int ifindex, const char *kind,
		       uint32_t handle)
{
	struct tcmsg *tc =
		qdisc_start(request, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex);

	tc->tcm_parent = TC_H_ROOT;
	tc->tcm_handle = handle;
	mnl_attr_put_strz(&request->head, TCA_KIND, kind);
}

int fq_prepare(const char *device, struct rl_instance *info)
{
	struct qdiscs there;
	bool restorable;
	int ret = qdiscs_read(info->ifindex, &there);

	if (ret) {
		fail("%s: reading its qdiscs failed: %s", device, strerror(-ret));
		return ret;
	}
	if (qdiscs_have_fq(&there)) {
		note("%s: already has the qdisc fq: --fq changes nothing", device);
		return 0;
	}
	restorable = !TC_H_MAJ(there.root_handle);
	for (size_t i = 0; i < sizeof(simple) / sizeof(simple[0]); i++)
		restorable |=
			!strcmp(there.root_kind, simple[i]) && there.root_fits && !there.children;
	if (!restorable) {
		fail("%s: has the qdisc %s, which detach could not restore after --fq: put fq into "
		     "it, or run `tc qdisc del dev %s root` first",
		     device, there.root_kind, device);
		return -EBUSY;
	}
	info->put_fq = 1;
	info->root_handle = there.root_handle;
	info->root_size = there.root_size;
	memcpy(info->root_kind, there.root_kind, sizeof(info->root_kind));
	memcpy(info->root_options, there.root_options, sizeof(info->root_options));
	return 0;
}

int fq_put(const char *device, const struct rl_instance *info)
{
	union netlink_request request;
	struct nlattr *options;
	int ret;

	if (!info->put_fq)
		return 0;
	root_start(&request, (int)info->ifindex, "fq", FQ_HANDLE);
	options = mnl_attr_nest_start(&request.head, TCA_OPTIONS);
	mnl_attr_put_u32(&request.head, TCA_FQ_PLIMIT, FQ_PACKETS);
	mnl_attr_put_u32(&request.head, TCA_FQ_FLOW_PLIMIT, FQ_PACKETS);
	mnl_attr_put_u32(&request.head, TCA_FQ_HORIZON, FQ_HORIZON_US);
	mnl_attr_nest_end(&request.head, options);
	ret = netlink_ask(NETLINK_ROUTE, &request, NULL, NULL);
	if (ret)
		fail("%s: adding the qdisc fq failed: %s", device,
		     ret == -ENOENT
			     ? "the kernel lacks it: run `modprobe sch_fq`, or leave out --fq"
			     : strerror(-ret));
	return ret;
}

/* Deleting our qdisc restores the kernel's default. A failure is only noted: the kernel would
 * refuse a retry as well. */
static int fq_take_away(const char *device, const struct rl_instance *info)
{
	union netlink_request request;
	struct qdiscs there;
	int ret = qdiscs_read(info->ifindex, &there);

	if (ret || there.root_handle != FQ_HANDLE || strcmp(there.root_kind, "fq"))
		return ret;
	if (TC_H_MAJ(info->root_handle)) {
		root_start(&request, info->ifindex, info->root_kind, info->root_handle);
		if (info->root_size)
			mnl_attr_put(&request.head, TCA_OPTIONS, info->root_size,
				     info->root_options);
	} else {
		qdisc_start(&request, RTM_DELQDISC, 0, info->ifindex)->tcm_parent = TC_H_ROOT;
	}
	ret = netlink_ask(NETLINK_ROUTE, &request, NULL, NULL);
	if (ret)
		note("%s: restoring its qdisc %s failed: %s", device, info->root_kind,
		     strerror(-ret));
	return 0;
}

void fq_missing_note(const struct instance *instance, const struct policy *policy)
{
	const char *device = instance->device;
	struct qdiscs there;
	bool paces = false;

	policy_for_each (policy, rule)
		paces |= rule->action == RL_ACTION_LIMIT &&
			 limit_paces(&rule->limit, instance->info.hook);
	if (!paces || qdiscs_read(instance->info.ifindex, &there) || qdiscs_have_fq(&there))
		return;
	note("%s: without the qdisc fq a leaky-bucket only drops and delays nothing: attach with "
	     "--fq, or run `tc qdisc replace dev %s root fq`",
	     device, device);
}

/* ---- the filters of a tc hook */

int tc_filters_read(int ifindex, enum rl_hook hook, mnl_cb_t each, void *arg)
{
	union netlink_request request;
	struct tcmsg *tc = netlink_start(&request, RTM_GETTFILTER, NLM_F_DUMP, sizeof(*tc));
	int ret, tries = NETLINK_TRIES;

	tc->tcm_ifindex = ifindex;
	tc->tcm_parent =
		TC_H_MAKE(TC_H_CLSACT, hook == RL_HOOK_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	do
		ret = netlink_ask(NETLINK_ROUTE, &request, each, arg);
	while (ret == -EINTR && --tries);
	return ret;
}

static int filter_note(const struct nlmsghdr *message, void *arg)
{
	*(bool *)arg |= message->nlmsg_type == RTM_NEWTFILTER;
	return MNL_CB_OK;
}

/* ---- clsact, shared by all instances in mode tc of a device */

int clsact_make(const char *device, enum rl_hook hook, struct rl_instance *info, int info_fd)
{
	LIBBPF_OPTS(bpf_tc_hook, clsact, .ifindex = info->ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	struct qdiscs there;
	int ret = qdiscs_read(info->ifindex, &there);

	if (ret || there.clsact || (there.ingress && hook != RL_HOOK_EGRESS))
		return ret;
	if (there.ingress) {
		fail("%s: has the qdisc ingress, which has no egress hook: if its filters are not "
		     "needed, run `tc qdisc del dev %s ingress` first",
		     device, device);
		return -EEXIST;
	}
	info->made_clsact = 1;
	ret = map_put(info_fd, info);
	if (!ret)
		ret = bpf_tc_hook_create(&clsact);
	if (ret != -EEXIST)
		return ret;
	info->made_clsact = 0; /* another process created it first */
	return map_put(info_fd, info);
}

/* Makes the instance at that hook, which needs it for a program at a tc hook, responsible for
 * removing clsact. -ENOENT if there is none. */
static int clsact_give(const struct instance *instance, enum rl_hook hook)
{
	char root[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX];
	struct instance other;
	int ret;

	pins_parent(instance->path, 1, root);
	ret = pins_path(root, instance->device, hook, path);
	if (!ret)
		ret = instance_open_maps(path, instance->device, true, INSTANCE_MAPS_ALL, &other);
	if (ret)
		return ret == -EPROTO ? -ENOENT : ret;
	ret = -ENOENT;
	if (other.info.ifindex == instance->info.ifindex &&
	    (other.info.mode == RL_MODE_TC || other.info.companion)) {
		other.info.made_clsact = 1;
		ret = map_put(other.fd.instance, &other.info);
	}
	maps_close(&other.fd);
	return ret;
}

/* If another process adds a filter between the check and the removal, the filter is removed with
 * clsact. */
static int clsact_take_away(const struct instance *instance)
{
	const int ifindex = (int)instance->info.ifindex;
	LIBBPF_OPTS(bpf_tc_hook, clsact, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	bool others = false;
	int ret = -ENOENT;

	/* Makes another instance of the device responsible. */
	for (int hook = RL_HOOK_XDP; ret == -ENOENT && hook <= RL_HOOK_EGRESS; hook++)
		if (hook != (int)instance->info.hook)
			ret = clsact_give(instance, hook);
	if (ret != -ENOENT)
		return ret;
	ret = tc_filters_read(ifindex, RL_HOOK_INGRESS, filter_note, &others);
	if (!ret && !others)
		ret = tc_filters_read(ifindex, RL_HOOK_EGRESS, filter_note, &others);
	if (!ret && !others)
		ret = bpf_tc_hook_destroy(&clsact);
	/* Others use it, or it no longer exists. */
	return ret == -EINVAL || ret == -ENOENT || ret == -ENODEV ? 0 : ret;
}

int clsact_undo(const struct instance *instance, struct rl_instance *info)
{
	int lock = pins_lock_all(instance->path, LOCK_WAIT_MS);
	int ret = lock < 0 ? lock : instance_info_now(instance, info);
	bool made = !ret && info->made_clsact;

	if (made)
		ret = clsact_take_away(instance);
	if (made && !ret) {
		info->made_clsact = 0;
		ret = map_put(instance->fd.instance, info);
	}
	pins_unlock(lock);
	return ret;
}

int qdiscs_restore(const struct instance *instance)
{
	const struct rl_instance *info = &instance->info;
	bool made = info->put_fq || info->made_clsact;
	int ifindex = made ? device_index(instance->device) : -ENODEV, ret = 0;

	if (ifindex != (int)info->ifindex)
		return ifindex == -ENODEV || ifindex > 0 ? 0 : ifindex;
	if (info->put_fq)
		ret = fq_take_away(instance->device, info);
	if (!ret && info->made_clsact)
		ret = clsact_take_away(instance);
	return ret;
}
