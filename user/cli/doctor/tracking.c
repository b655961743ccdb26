// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check of what tells which packets are established: a connection tracking that tracks
 * nothing looks like a flood, and so do sockets where those of others are behind this machine. */
#include <stdio.h>

#include "conntrack.h"
#include "doctor.h"

static bool forwards(void)
{
	return doctor_setting("ipv4/ip_forward") > 0 ||
	       doctor_setting("ipv6/conf/all/forwarding") > 0;
}

static void check_sockets(struct doctor *doctor)
{
	const char *device = doctor->facts->name;
	char remedy[REMEDY_MAX];

	snprintf(remedy, sizeof(remedy),
		 "rlctl detach %s && rlctl attach %s --state conntrack --policy FILE", device,
		 device);
	if (doctor_uses(doctor) & RL_USE_PROOF && forwards())
		doctor_finds(doctor, HEALTH_WARN, remedy,
			     "sockets, but this machine forwards: connections of containers and "
			     "of other hosts are not established");
	else
		doctor_finds(doctor, HEALTH_OK, NULL, "sockets");
}

void check_state(struct doctor *doctor)
{
	if (!doctor->instance || doctor->instance->info.proof != RL_PROOF_CONNTRACK) {
		check_sockets(doctor);
		return;
	}
	switch (conntrack_read()) {
	case CONNTRACK_TRACKS:
		doctor_finds(doctor, HEALTH_OK, NULL, "connection tracking, which has connections");
		break;
	case CONNTRACK_EMPTY:
		doctor_finds(
			doctor, HEALTH_WARN,
			"add a rule of nft or iptables that needs them: ct state, NAT",
			"connection tracking has no connections in this network namespace: until "
			"then nothing is established, so `not established deny` drops every "
			"answer");
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
