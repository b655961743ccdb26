// SPDX-License-Identifier: GPL-2.0-only
#include "cli/guard/surroundings.h"

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "compile/compiled.h"
#include "kernel/attach/features.h"
#include "kernel/device/device.h"

int net_setting(const char *name)
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

/* This machine's sockets know nothing of the connections of others. */
bool forwarding_advice(const struct surroundings *around, struct advice *out)
{
	if (around->conntrack || !(around->uses & RL_USE_PROOF) ||
	    (net_setting("ipv4/ip_forward") <= 0 && net_setting("ipv6/conf/all/forwarding") <= 0))
		return false;
	snprintf(out->remedy, sizeof(out->remedy),
		 "rlctl detach %s && rlctl attach %s --state conntrack --policy FILE",
		 around->device, around->device);
	out->text = "this machine forwards, and its sockets say what is established: connections "
		    "of containers and of other hosts are not established, and are limited";
	return true;
}

/* A connection tracking that tracks nothing looks like a flood. */
bool tracking_advice(const struct surroundings *around, struct advice *out)
{
	const char *remedy = "";

	if (!around->conntrack)
		return false;
	switch (conntrack_read()) {
	case CONNTRACK_TRACKS:
		return false;
	case CONNTRACK_EMPTY:
		out->text = "connection tracking has no connections in this network namespace: "
			    "until then nothing is established, so `not established deny` drops "
			    "every answer";
		remedy = "add a rule of nft or iptables that needs them: ct state, NAT";
		break;
	case CONNTRACK_NO_FUNCTIONS:
		out->text = "programs cannot ask this kernel's connection tracking";
		remedy = "install a kernel with CONFIG_DEBUG_INFO_BTF_MODULES";
		break;
	case CONNTRACK_NOT_LOADED:
		out->text = "connection tracking is not loaded";
		remedy = "modprobe nf_conntrack";
		break;
	}
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
	return true;
}

/* A veth hands frames that a program sends to a ring that its peer has only with a program. */
bool answers_advice(const struct surroundings *around, struct advice *out)
{
	struct device_facts facts;

	if (!around->native || !(around->uses & (RL_USE_CHALLENGE | RL_USE_TRUNCATE)) ||
	    device_facts_read(around->device, &facts) || strcmp(facts.driver, "veth") != 0)
		return false;
	snprintf(out->remedy, sizeof(out->remedy),
		 "rlctl detach %s && rlctl attach %s --mode generic --policy FILE", around->device,
		 around->device);
	out->text = "the peer of a veth takes answers in native mode only if it has an XDP "
		    "program: without one they are lost";
	return true;
}

void surroundings_note(const char *device, const struct rl_instance *info,
		       const struct policy *policy)
{
	static bool (*const advices[])(const struct surroundings *, struct advice *) = {
		forwarding_advice,
		tracking_advice,
		answers_advice,
	};
	struct surroundings around = {
		.device = device,
		.conntrack = info && info->proof == RL_PROOF_CONNTRACK,
		.native = info && info->hook == RL_HOOK_XDP && info->mode == RL_MODE_NATIVE,
	};
	struct advice advice;

	policy_for_each (policy, rule)
		around.uses |= rule_uses(rule);
	for (size_t i = 0; i < policy->alarm_count; i++)
		around.uses |= rule_uses(&policy->alarms[i].counts);
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (advices[i](&around, &advice))
			note_once("%s: warning: %s: %s", device, advice.text, advice.remedy);
}
