// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of what `over challenge` depends on, where the policy in force has such a limit:
 * settings of the device's network namespace, and the addresses that answers are for. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/guard/surroundings.h"
#include "kernel/device/device.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/answers.h"

uint64_t doctor_uses(const struct doctor *doctor)
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

/* Is it the name of a process that sends connections to services of Kubernetes on? */
static bool redirects(const char *name)
{
	static const char *const names[] = {"kube-proxy", "cilium-agent", "k3s-server",
					    "k3s-agent"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool process_redirects(const char *pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
	return redirects(name);
}

/* The node's kernel makes the cookie, and the answer to it goes to a pod, which has not seen it. */
static void check_services(struct doctor *doctor)
{
	bool found = device_index("kube-ipvs0") > 0 || device_index("cilium_host") > 0;
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (!found && dir && (entry = readdir(dir)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			process_redirects(entry->d_name);
	if (dir)
		closedir(dir);
	if (found)
		doctor_finds(doctor, HEALTH_WARN, "write over drop in rules for ports of services",
			     "this is a node of Kubernetes: a connection to a port of a service "
			     "(NodePort, LoadBalancer) that over challenge answers is reset, "
			     "because a pod gets its next packet");
}

void check_cookies(struct doctor *doctor)
{
	if (!(doctor_uses(doctor) & RL_USE_CHALLENGE))
		return;
	check_syncookies(doctor);
	check_timestamps(doctor);
	check_services(doctor);
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
