// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check of the settings that `over challenge` depends on, in the device's network
 * namespace, where the policy in force has such a limit.
 */
#include <stdio.h>

#include "doctor.h"
#include "policy_write.h"

/* Negative: this kernel has no such setting. */
static int setting_read(const char *name)
{
	char path[64];
	int value;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static bool policy_challenges(const struct doctor *doctor)
{
	struct rl_policy_header header;

	return doctor->instance && !policy_header_read(doctor->instance, &header) &&
	       header.uses & RL_USE_CHALLENGE;
}

static void check_syncookies(struct doctor *doctor)
{
	switch (setting_read("tcp_syncookies")) {
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
	if (setting_read("tcp_timestamps") > 0)
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
	if (!policy_challenges(doctor))
		return;
	check_syncookies(doctor);
	check_timestamps(doctor);
}
