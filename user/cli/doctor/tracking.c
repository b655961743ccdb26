// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check of what tells which packets are established: a connection tracking that tracks
 * nothing looks like a flood. */
#include "conntrack.h"
#include "doctor.h"

void check_state(struct doctor *doctor)
{
	if (!doctor->instance || doctor->instance->info.proof != RL_PROOF_CONNTRACK) {
		doctor_finds(doctor, HEALTH_OK, NULL, "sockets");
		return;
	}
	switch (conntrack_read()) {
	case CONNTRACK_TRACKS:
		doctor_finds(doctor, HEALTH_OK, NULL, "connection tracking, which has connections");
		break;
	case CONNTRACK_EMPTY:
		doctor_finds(doctor, HEALTH_WARN,
			     "add a rule of nft or iptables that needs them: ct state, NAT",
			     "connection tracking has no connections in this network namespace");
		break;
	case CONNTRACK_NO_FUNCTIONS:
		doctor_finds(doctor, HEALTH_WARN,
			     "install a kernel with CONFIG_DEBUG_INFO_BTF_MODULES",
			     "programs cannot ask this kernel's connection tracking");
		break;
	case CONNTRACK_NOT_LOADED:
		doctor_finds(doctor, HEALTH_WARN, "modprobe nf_conntrack",
			     "connection tracking is not loaded");
		break;
	}
}
