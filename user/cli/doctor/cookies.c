// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of what `over challenge` and `over truncate` depend on, where the policy in force
 * has such a limit: settings of the device's network namespace, and a way for the answers.
 */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "policy_read.h"

int doctor_setting(const char *name)
{
	char path[64];
	int value;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

uint32_t doctor_uses(const struct doctor *doctor)
{
	struct rl_policy_header header;

	return doctor->instance && !policy_header_read(doctor->instance, &header) ? header.uses : 0;
}

static void check_syncookies(struct doctor *doctor)
{
	switch (doctor_setting("ipv4/tcp_syncookies")) {
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
	if (doctor_setting("ipv4/tcp_timestamps") > 0)
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

/* A veth hands frames that a program sends to a ring that its peer has only with a program. */
void check_answers(struct doctor *doctor)
{
	const char *device = doctor->facts->name;
	char remedy[REMEDY_MAX];

	if (!(doctor_uses(doctor) & (RL_USE_CHALLENGE | RL_USE_TRUNCATE)) ||
	    doctor->status.mode != RL_MODE_NATIVE || strcmp(doctor->facts->driver, "veth") != 0)
		return;
	snprintf(remedy, sizeof(remedy),
		 "rlctl detach %s && rlctl attach %s --mode generic --policy FILE", device, device);
	doctor_finds(doctor, HEALTH_WARN, remedy,
		     "the peer of a veth takes answers in native mode only if it has an XDP "
		     "program: without one they are lost");
}
