// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of a device: obstacles to native XDP and to exact counts. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "kernel/attach/features.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/attach/program.h"
#include "kernel/attach/trial_record.h"
#include "kernel/attach/xdp.h"
#include "kernel/device/device.h"
#include "kernel/instance/find.h"
#include "kernel/proof/asked_table.h"

/* A page less XDP's headroom and tailroom and the frame's Ethernet header. */
#define MTU_IN_ONE_PIECE 3498u

/* Drivers that probably support native XDP, for kernels that do not report it. */
static const char *const native_drivers[] = {
	"atlantic",      "bnxt_en",   "cpsw", "dpaa2-eth", "ena",        "enetc",
	"gve",           "hv_netvsc", "i40e", "ice",       "igb",        "igc",
	"ixgbe",         "ixgbevf",   "mana", "mlx4_en",   "mlx5_core",  "mvneta",
	"mvpp2",         "nfp",       "qede", "r8152",     "sfc",        "stmmac",
	"thunder-nicvf", "tsnep",     "tun",  "veth",      "virtio_net", "vmxnet3",
};

static bool native_possible(const struct device_facts *facts)
{
	bool likely = false;

	for (size_t i = 0; i < sizeof(native_drivers) / sizeof(native_drivers[0]); i++)
		likely |= !strcmp(facts->driver, native_drivers[i]);
	return facts->link == LINK_ETHERNET &&
	       (facts->xdp_known ? facts->xdp_features & XDP_FEATURE_BASIC : likely);
}

/* The mode of our program, or the one that attach would choose. */
static enum rl_mode mode_of(const struct doctor *doctor)
{
	if (doctor->instance)
		return doctor->status.mode;
	return native_possible(doctor->facts) ? RL_MODE_NATIVE : RL_MODE_TC;
}

void check_link(struct doctor *doctor)
{
	if (doctor->facts->up)
		doctor_ok(doctor, "up");
	else
		doctor_warn(doctor, remedy(doctor, "ip link set dev %s up", doctor->facts->name),
			    "down");
}

/* ---- XDP */

/* A veth supports it only with at least as many receive queues as its peer has transmit queues. */
static const char *native_remedy(struct doctor *doctor)
{
	const struct device_facts *facts = doctor->facts;

	return remedy(
		doctor,
		strcmp(facts->driver, "veth") != 0
			? "use another device, or `rlctl attach %s`, which uses mode tc"
			: "ethtool -L %s rx N, where N is the peer's number of transmit queues",
		facts->name);
}

void check_native(struct doctor *doctor)
{
	const struct device_facts *facts = doctor->facts;
	const char *driver = *facts->driver ? facts->driver : "the unnamed driver";

	/* Tunnels: rlctl parses packets without an Ethernet header at tc only. */
	if (link_has_ip(facts->link))
		doctor_ok(doctor, "not available without an Ethernet header: attach uses mode tc");
	else if (facts->link != LINK_ETHERNET)
		doctor_warn(
			doctor, "use another device",
			"packets begin with neither Ethernet nor IP: attach refuses the device");
	else if (facts->xdp_known && native_possible(facts))
		doctor_ok(doctor, "%s supports native XDP%s", driver,
			  facts->xdp_features & XDP_FEATURE_RX_SG ? ", multi-buffer included" : "");
	else if (facts->xdp_known)
		doctor_warn(doctor, native_remedy(doctor),
			    "%s does not support native XDP in its current setup", driver);
	else if (native_possible(facts))
		doctor_ok(doctor, "%s probably supports native XDP; this kernel does not report it",
			  driver);
	else
		doctor_warn(doctor, native_remedy(doctor),
			    "%s is not known to support native XDP; this kernel does not report it",
			    driver);
}

static void report_program(struct doctor *doctor, const struct device_xdp_program *program)
{
	bool ours = doctor->instance && instance_runs(doctor->instance, program->id);
	const char *device = doctor->facts->name;
	char pins[INSTANCE_PATH_MAX];

	if (ours && program->id == doctor->status.program_id)
		doctor_ok(doctor, "ours (%u)%s", program->id,
			  doctor->programs.dispatcher
				  ? ", after libxdp's dispatcher"
				  : ", alone, without libxdp's dispatcher: " XDP_ALONE_TEXT);
	else if (ours)
		doctor_warn(
			doctor, remedy_replace(doctor),
			"ours a second time (%u), left by an interrupted --replace: packets are "
			"charged twice",
			program->id);
	else if (program_pins_find(doctor->target->bpffs, program->id, pins))
		doctor_fail(doctor, "move the device back to change its policy or to detach it",
			    "%s (%u) is rlctl's, attached in another network namespace (%s): "
			    "attach is refused",
			    program->name, program->id, pins);
	else if (doctor->programs.dispatcher)
		doctor_ok(doctor, "%s (%u), attached through libxdp: ours can run beside it",
			  program->name, program->id);
	else
		doctor_fail(
			doctor,
			remedy(doctor,
			       "bpftool net show dev %s identifies it; ip link set dev %s xdp off "
			       "removes it",
			       device, device),
			"%s (%u) was attached by another tool without libxdp: attach is refused",
			program->name, program->id);
}

void check_programs(struct doctor *doctor)
{
	const struct device_programs *programs = &doctor->programs;

	if (doctor->programs_error) {
		doctor_warn(doctor, doctor->privileged ? "bpftool net show" : "sudo rlctl doctor",
			    "unknown: %s", strerror(-doctor->programs_error));
		return;
	}
	for (size_t i = 0; i < programs->count; i++)
		report_program(doctor, &programs->list[i]);
	if (!programs->count)
		doctor_ok(doctor, "no XDP program");
}

/* How to attach in a better mode. */
static const char *mode_remedy(struct doctor *doctor)
{
	const char *device = doctor->facts->name;

	return remedy(
		doctor, "rlctl show %s >policy; rlctl detach %s; rlctl attach %s %s--policy policy",
		device, device, device, native_possible(doctor->facts) ? "--mode native " : "");
}

void check_mode(struct doctor *doctor)
{
	const char *mode = mode_name(doctor->status.mode);

	if (!doctor->instance)
		doctor_ok(doctor, "not attached");
	else if (doctor->status.mode == RL_MODE_NATIVE || link_has_ip(doctor->facts->link))
		doctor_ok(doctor, "attached in mode %s", mode);
	else if (native_possible(doctor->facts))
		doctor_warn(doctor, mode_remedy(doctor),
			    "attached in mode %s, though native is possible", mode);
	else if (doctor->status.mode == RL_MODE_GENERIC)
		doctor_warn(doctor, mode_remedy(doctor),
			    "attached in mode generic, which counts merged packets as one: mode tc "
			    "counts each");
	else
		doctor_warn(doctor, "see `native`", "attached in mode tc: native is not possible");
}

/* ---- tcx */

/* The names of the first programs that fit. */
static void tcx_names(const struct device_tcx *tcx, uint32_t count, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < count && used + 48 < size; i++)
		used += snprintf(out + used, size - used, "%s%.24s (%u)", i ? ", " : "",
				 *tcx->list[i].name ? tcx->list[i].name : "program",
				 tcx->list[i].id);
	if (used + 48 >= size)
		snprintf(out + used, size - used, ", ...");
}

static void tcx_report_ours(struct doctor *doctor, const char *hook, const struct device_tcx *tcx)
{
	const char *first =
		remedy(doctor, "rlctl attach %s --replace moves ours first%s", doctor->facts->name,
		       tcx->count < DEVICE_TCX_MAX ? "" : ", once one of the others is removed");
	char names[256];

	tcx_names(tcx, tcx->before, names, sizeof(names));
	if (tcx->before)
		doctor_warn(
			doctor, first,
			"%s: %s before ours (%u), which sees only packets they pass on (TCX_NEXT)",
			hook, names, tcx->ours);
	else if (tcx->twice)
		doctor_warn(doctor, first,
			    "%s: ours a second time, left by an interrupted --replace: packets are "
			    "charged twice",
			    hook);
	else
		doctor_ok(doctor, "%s: nothing before ours (%u)", hook, tcx->ours);
}

void check_tcx(struct doctor *doctor)
{
	const char *bpffs = doctor_may_list(doctor) ? doctor->target->bpffs : NULL;

	for (int hook = RL_HOOK_INGRESS; hook <= RL_HOOK_EGRESS; hook++) {
		const char *name = hook_name(hook);
		struct device_tcx tcx;
		char names[256];
		int ret = device_tcx_read(bpffs, doctor->facts->name, hook, &tcx);

		if (ret == -EOPNOTSUPP) {
			doctor_ok(doctor,
				  "%s: not in this kernel (since Linux 6.6): ours is a filter of "
				  "clsact",
				  name);
		} else if (ret) {
			doctor_warn(doctor, "sudo rlctl doctor", "%s: unknown: %s", name,
				    strerror(-ret));
		} else if (tcx.ours) {
			tcx_report_ours(doctor, name, &tcx);
		} else {
			tcx_names(&tcx, tcx.count, names, sizeof(names));
			doctor_ok(doctor, "%s: %s%s", name, tcx.count ? names : "no program",
				  tcx.count ? ": ours would run first" : "");
		}
	}
}

/* ---- ours */

void check_asked(struct doctor *doctor)
{
	const struct instance *instance = doctor->instance;
	char other[IF_NAMESIZE];

	if (!instance || !instance_asks(&instance->info, instance->info.program_uses)) {
		doctor_ok(doctor, "no rule asks whether UDP is established");
		return;
	}
	if (doctor->status.companion_id)
		doctor_ok(doctor, "noted at egress by program %u", doctor->status.companion_id);
	else
		doctor_warn(doctor, remedy_replace(doctor),
			    "nothing notes at egress what this machine asks: answers are not "
			    "established");
	/* Clients of the other device are answered by this one, as if they had been asked. */
	if (uplink_unseen(instance, other))
		doctor_warn(
			doctor,
			remedy(doctor,
			       "rlctl attach %s, with a rule that asks whether UDP is established",
			       other),
			"a client that comes by %s, where nothing notes it, is established once "
			"%s answers it",
			other, doctor->facts->name);
}

void check_instances(struct doctor *doctor)
{
	bool several = doctor->instances > 1;

	doctor_finds(doctor, several ? HEALTH_WARN : HEALTH_OK,
		     several ? remedy(doctor, "rlctl detach %s --hook HOOK", doctor->facts->name)
			     : NULL,
		     "%zu on this device", doctor->instances);
}

/* Whether CPUs were added or removed since attach. */
void check_shares(struct doctor *doctor)
{
	const struct rl_instance *info = doctor->instance ? &doctor->instance->info : NULL;
	struct cpu_facts cpus;

	if (info && !cpus_read(&cpus) && cpus.online != info->cpus)
		doctor_warn(doctor, remedy_replace(doctor), "divided among %u CPUs; online now: %u",
			    info->cpus, cpus.online);
	else
		doctor_ok(doctor, "none, or divided among the CPUs that are online");
}

void check_trial(struct doctor *doctor)
{
	struct trial_left left;

	if (!doctor->instance)
		doctor_ok(doctor, "none");
	else if (!instance_trial_left(doctor->instance, &left))
		doctor_warn(doctor, remedy(doctor, "rlctl confirm -i %s", doctor->facts->name),
			    "undone in %" PRIu64 " s", left.ns / 1000000000);
	else if (instance_trial_stale(doctor->instance))
		doctor_warn(doctor, "check `rlctl show`, then `rlctl apply` the right policy",
			    "a trial ended with its processes: its policy stayed in force");
	else
		doctor_ok(doctor, "none");
}

/* ---- packets */

void check_mtu(struct doctor *doctor)
{
	const struct device_facts *facts = doctor->facts;
	bool pieces = facts->xdp_features & XDP_FEATURE_RX_SG;
	const char *device = facts->name;

	if (doctor->instance && doctor->instance->info.mtu != facts->mtu)
		doctor_warn(
			doctor,
			remedy(doctor,
			       "rlctl show %s >policy; rlctl detach %s; rlctl attach %s --policy "
			       "policy",
			       device, device, device),
			"%u, but it was %u at attach", facts->mtu, doctor->instance->info.mtu);
	else if (facts->mtu > MTU_IN_ONE_PIECE && native_possible(facts) && !pieces)
		doctor_warn(doctor,
			    remedy(doctor, "ip link set dev %s mtu %u", device, MTU_IN_ONE_PIECE),
			    "%u: %s for native XDP, which needs a frame to fit one page",
			    facts->mtu, facts->xdp_known ? "too large" : "probably too large");
	else
		doctor_ok(doctor, "%u", facts->mtu);
}

void check_queues(struct doctor *doctor)
{
	const struct device_queues *queues = &doctor->facts->queues;
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t wanted = queues->most < cpus ? queues->most : cpus;

	if (queues->now < wanted)
		doctor_warn(doctor,
			    remedy(doctor, "ethtool -L %s %s %u", doctor->facts->name,
				   queues->combined ? "combined" : "rx", wanted),
			    "%u receive queues for %u CPUs; %u possible", queues->now, cpus,
			    queues->most);
	else
		doctor_ok(doctor, "%u receive queues for %u CPUs%s", queues->now, cpus,
			  queues->now < cpus ? ", the device's maximum" : "");
}

static void offload_check(struct doctor *doctor, enum device_offload offload, bool bad,
			  const char *on)
{
	static const char *const names[OFFLOAD_COUNT] = {"gro", "lro", "rx-gro-hw", "rxvlan"};

	if (!doctor->facts->on[offload])
		doctor_ok(doctor, "off");
	else if (!bad)
		doctor_ok(doctor, "on%s", on);
	else
		doctor_warn(
			doctor,
			remedy(doctor, "ethtool -K %s %s off", doctor->facts->name, names[offload]),
			"on%s", on);
}

/* Native XDP runs before GRO and tc after it; a device with a generic program does not merge. */
void check_gro(struct doctor *doctor)
{
	static const char *const on[] = {
		[RL_MODE_NATIVE] = ", after native XDP",
		[RL_MODE_GENERIC] = ", but not while generic XDP is attached",
		[RL_MODE_TC] = ", and tc counts each merged packet",
	};

	offload_check(doctor, OFFLOAD_GRO, false, on[mode_of(doctor)]);
}

void check_lro(struct doctor *doctor)
{
	offload_check(doctor, OFFLOAD_LRO, true, "");
}

void check_gro_hw(struct doctor *doctor)
{
	offload_check(doctor, OFFLOAD_GRO_HW, true, "");
}

/* tc has the tag; to XDP it is not there. */
void check_vlan(struct doctor *doctor)
{
	bool asked = doctor->instance && mode_of(doctor) != RL_MODE_TC &&
		     doctor->instance->info.program_uses & RL_USE_VLANS;

	offload_check(doctor, OFFLOAD_RX_VLAN, asked,
		      asked ? ": a packet whose tag the device takes out has vlan 0 for the policy"
			    : ": limits in bytes count a tagged packet without its 4 bytes");
}

void check_drops(struct doctor *doctor)
{
	const struct device_facts *facts = doctor->facts;
	const char *relief = "spread the queues over more CPUs (see `queues`)";

	if (facts->ring.now < facts->ring.most)
		relief = remedy(doctor, "ethtool -G %s rx %u", facts->name, facts->ring.most);
	if (facts->missed || facts->overruns)
		doctor_warn(doctor, relief,
			    "%" PRIu64 " missed, %" PRIu64 " overruns since the device was created",
			    facts->missed, facts->overruns);
	else
		doctor_ok(doctor, "none");
}
