// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of what `over challenge` depends on, where the policy in force has such a limit:
 * settings of the device's network namespace, and the addresses that answers are for. */
#include <stdio.h>

#include "cli/doctor/doctor.h"
#include "cli/guard/surroundings.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/answers.h"

uint32_t doctor_uses(const struct doctor *doctor)
{
	struct rl_policy_header header;

	return doctor->instance && !policy_header_read(doctor->instance, &header) ? header.uses : 0;
}

static void check_syncookies(struct doctor *doctor)
{
	switch (net_setting("ipv4/tcp_syncookies")) {
	case -1:
		doctor_finds(doctor, HEALTH_FAIL, "write over drop in place of over challenge",
			     "this kernel makes no SYN cookies: every SYN over the limit passes");
		break;
	case 0:
		doctor_finds(doctor, HEALTH_FAIL, "sysctl -w net.ipv4.tcp_syncookies=2",
			     "tcp_syncookies is 0, so the kernel makes no SYN cookies: every SYN "
			     "over the limit passes");
		break;
	case 1:
		doctor_finds(doctor, HEALTH_OK, NULL,
			     "tcp_syncookies is 1: a SYN over the limit passes until the socket's "
			     "queue is full, and is answered from then on");
		break;
	default:
		doctor_finds(doctor, HEALTH_OK, NULL,
			     "tcp_syncookies is 2: every SYN over the limit is answered");
	}
}

/* An answer has no timestamp: it matters only for cookies that the kernel sends itself. */
static void check_timestamps(struct doctor *doctor)
{
	if (net_setting("ipv4/tcp_timestamps") > 0)
		doctor_finds(doctor, HEALTH_OK, NULL,
			     "tcp_timestamps is on: connections keep window scaling and SACK after "
			     "the kernel's own cookies, but not after an answer of over challenge");
	else
		doctor_finds(doctor, HEALTH_WARN, "sysctl -w net.ipv4.tcp_timestamps=1",
			     "tcp_timestamps is 0: connections lose window scaling and SACK after "
			     "every cookie, those that the kernel sends included");
}

void check_cookies(struct doctor *doctor)
{
	if (!(doctor_uses(doctor) & RL_USE_CHALLENGE))
		return;
	check_syncookies(doctor);
	check_timestamps(doctor);
}

/* The device's address was changed, or a bridge or macvlan has come, since the policy was applied.
 */
void check_addresses(struct doctor *doctor)
{
	char remedy[REMEDY_MAX];
	uint8_t a[ETH_ALEN];

	snprintf(remedy, sizeof(remedy), "rlctl attach %s --replace", doctor->facts->name);
	if (answers_miss(doctor->instance, a))
		doctor_finds(
			doctor, HEALTH_WARN, remedy,
			"frames to %02x:%02x:%02x:%02x:%02x:%02x are dropped over the limit, not "
			"answered: the device, or one on top of it, got that address after the "
			"policy was applied",
			a[0], a[1], a[2], a[3], a[4], a[5]);
}
