// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of where the machine makes the policy in force do other than it says:
 * surroundings.h has the texts. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/guard/surroundings.h"
#include "kernel/attach/conntrack.h"
#include "kernel/proof/cgroup.h"
#include "kernel/proof/peers.h"
#include "kernel/proof/tcp_sockets.h"

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
		doctor_finds(doctor, HEALTH_WARN, advice.remedy, "%s", advice.text);
	else
		doctor_finds(doctor, HEALTH_OK, NULL, "%s",
			     around.conntrack ? "connection tracking, which has connections"
					      : "sockets");
}

static void socket_ignore(const struct flow *flow, uint32_t inode, void *arg)
{
	(void)flow, (void)inode, (void)arg;
}

/* Where the filter of peers cannot be fed; NULL: there. */
static const char *peers_obstacle(const char **remedy)
{
	int cgroup = cgroup_root_open();

	if (cgroup >= 0) {
		close(cgroup);
		if (!peer_sockets_read(socket_ignore, NULL))
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
	char replace[REMEDY_MAX];
	const char *remedy = replace, *obstacle;

	if (!info || info->proof != RL_PROOF_SOCKETS || !(doctor_uses(doctor) & RL_USE_PROOF)) {
		doctor_finds(doctor, HEALTH_OK, NULL, "no rule asks sockets what is established");
		return;
	}
	if (peers_fed(doctor->instance) == 1) {
		doctor_finds(doctor, HEALTH_OK, NULL,
			     "programs at the root of cgroup v2 note them");
		return;
	}
	snprintf(replace, sizeof(replace), "rlctl attach %s --replace", doctor->facts->name);
	obstacle = peers_obstacle(&remedy);
	doctor_finds(doctor, HEALTH_WARN, remedy, "a socket is looked up for every packet: %s",
		     obstacle ?: "the programs that note who has one are not attached");
}

void check_answers(struct doctor *doctor)
{
	const struct surroundings around = surroundings_of(doctor);
	struct advice advice;

	if (around.uses & (RL_USE_CHALLENGE | RL_USE_TRUNCATE))
		check_addresses(doctor);
	if (answers_advice(&around, &advice))
		doctor_finds(doctor, HEALTH_WARN, advice.remedy, "%s", advice.text);
}
