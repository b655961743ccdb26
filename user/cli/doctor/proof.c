// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of what the policy in force needs to know who is there, and of what `over
 * challenge` depends on: guard/surroundings.h has some of the texts. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/guard/ssh_sessions.h"
#include "cli/guard/surroundings.h"
#include "kernel/attach/features.h"
#include "kernel/device/device.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/answers.h"
#include "kernel/proof/peers.h"
#include "kernel/proof/tcp_sockets.h"
#include "kernel/scope.h"

uint64_t doctor_uses(const struct doctor *doctor)
{
	struct rl_policy_header header;

	return doctor->instance && !policy_header_read(doctor->instance, &header) ? header.uses : 0;
}

static struct surroundings surroundings_of(const struct doctor *doctor)
{
	return (struct surroundings){
		.device = doctor->facts->name,
		.uses = doctor_uses(doctor),
		.conntrack = doctor->instance && doctor->instance->info.proof == RL_PROOF_CONNTRACK,
		.native = doctor->instance && doctor->instance->info.hook == RL_HOOK_XDP &&
			  doctor->status.mode == RL_MODE_NATIVE,
	};
}

void check_state(struct doctor *doctor)
{
	const struct surroundings around = surroundings_of(doctor);
	struct advice advice;

	if (forwarding_advice(&around, &advice) || tracking_advice(&around, &advice))
		doctor_warn(doctor, advice.remedy, "%s", advice.text);
	else
		doctor_ok(doctor, "%s",
			  around.conntrack ? "connection tracking, which has connections"
					   : "sockets");
}

/* Where the filter of peers cannot be fed; NULL: there. */
static const char *peers_obstacle(const char **remedy)
{
	int cgroup = cgroup_root_open();

	if (cgroup >= 0) {
		close(cgroup);
		if (!peer_sockets_read(NULL, NULL))
			return NULL;
		*remedy = "modprobe -a tcp_diag udp_diag, then rlctl attach DEV --replace";
		return "this kernel does not list its sockets";
	}
	*remedy = cgroup == -EXDEV ? "run rlctl in the machine's own cgroup namespace"
				   : "mount -t cgroup2 none /sys/fs/cgroup";
	return cgroup == -EXDEV ? "only a part of cgroup v2 is visible here"
				: "cgroup v2 is not mounted here";
}

void check_peers(struct doctor *doctor)
{
	const struct rl_instance *info = doctor->instance ? &doctor->instance->info : NULL;
	const char *relief, *obstacle;

	if (!info || info->proof != RL_PROOF_SOCKETS || !(doctor_uses(doctor) & RL_USE_PROOF)) {
		doctor_ok(doctor, "no rule asks sockets what is established");
		return;
	}
	if (peers_fed(doctor->instance) == 1) {
		doctor_ok(doctor, "programs at the root of cgroup v2 note them");
		return;
	}
	relief = remedy_replace(doctor);
	obstacle = peers_obstacle(&relief);
	doctor_warn(doctor, relief, "a socket is looked up for every packet: %s",
		    obstacle ?: "the programs that note who has one are not attached");
}

/* ---- answers of `over challenge` */

static void check_syncookies(struct doctor *doctor)
{
	switch (net_setting("ipv4/tcp_syncookies")) {
	case -1:
		doctor_fail(doctor, "write over drop in place of over challenge",
			    "this kernel makes no SYN cookies: every SYN over the limit passes");
		break;
	case 0:
		doctor_fail(doctor, "sysctl -w net.ipv4.tcp_syncookies=2",
			    "tcp_syncookies is 0, so the kernel makes no SYN cookies: every SYN "
			    "over the limit passes");
		break;
	case 1:
		doctor_ok(doctor,
			  "tcp_syncookies is 1: a SYN over the limit passes until the socket's "
			  "queue is full, and is answered from then on");
		break;
	default:
		doctor_ok(doctor, "tcp_syncookies is 2: every SYN over the limit is answered");
	}
}

/* Does it send connections to services of Kubernetes on? By the name of the process. */
static bool process_redirects(pid_t pid)
{
	static const char *const names[] = {"kube-proxy\n", "cilium-agent\n", "k3s-server\n",
					    "k3s-agent\n"};
	bool found = false;
	char name[32];

	process_read(pid, "comm", name, sizeof(name));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		found |= !strcmp(name, names[i]);
	return found;
}

/* The node's kernel makes the cookie, and the answer to it goes to a pod, which has not seen it. */
static void check_services(struct doctor *doctor)
{
	bool found = device_index("kube-ipvs0") > 0 || device_index("cilium_host") > 0;
	CLOSED_DIR DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (!found && dir && (entry = readdir(dir)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			process_redirects(atoi(entry->d_name));
	if (found)
		doctor_warn(doctor, "write over drop in rules for ports of services",
			    "this is a node of Kubernetes: a connection to a port of a service "
			    "(NodePort, LoadBalancer) that over challenge answers is reset, "
			    "because a pod gets its next packet");
}

void check_cookies(struct doctor *doctor)
{
	if (!(doctor_uses(doctor) & RL_USE_CHALLENGE))
		return;
	check_syncookies(doctor);
	/* An answer has no timestamp: it matters only for cookies that the kernel sends itself. */
	if (net_setting("ipv4/tcp_timestamps") > 0)
		doctor_ok(doctor,
			  "tcp_timestamps is on: connections keep window scaling and SACK after "
			  "the kernel's own cookies, but not after an answer of over challenge");
	else
		doctor_warn(doctor, "sysctl -w net.ipv4.tcp_timestamps=1",
			    "tcp_timestamps is 0: connections lose window scaling and SACK after "
			    "every cookie, those that the kernel sends included");
	check_services(doctor);
}

void check_answers(struct doctor *doctor)
{
	const struct surroundings around = surroundings_of(doctor);
	struct advice advice;
	uint8_t a[ETH_ALEN];

	/* The device's address was changed, or a bridge or macvlan has come, since the policy was
	 * applied. */
	if (around.uses & (RL_USE_CHALLENGE | RL_USE_TRUNCATE) && answers_miss(doctor->instance, a))
		doctor_warn(
			doctor, remedy_replace(doctor),
			"frames to %02x:%02x:%02x:%02x:%02x:%02x are dropped over the limit, not "
			"answered: the device, or one on top of it, got that address after the "
			"policy was applied",
			a[0], a[1], a[2], a[3], a[4], a[5]);
	if (answers_advice(&around, &advice))
		doctor_warn(doctor, advice.remedy, "%s", advice.text);
}
