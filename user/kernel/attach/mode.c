// SPDX-License-Identifier: GPL-2.0-only
/* Chooses the program of an instance: XDP native, XDP generic or tc. At hook xdp the link type
 * decides; whether the driver supports XDP shows only on attach. */

#include "kernel/attach/mode.h"

#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/device/device.h"
#include "kernel/failures.h"

int device_link_ask(const char *device, struct device_facts *out)
{
	int ret = device_link_facts(device, out);

	if (ret == -ENODEV)
		return report_no_device(device);
	if (ret)
		fail("%s: %s", device, strerror(-ret));
	return ret;
}

int device_context(const struct target *target, bool by_dest, struct policy_context *out)
{
	struct device_facts facts;
	int ret = device_link_ask(target->device, &facts);

	if (ret)
		return ret;
	*out = (struct policy_context){.mtu = facts.mtu,
				       .by_dest = by_dest,
				       .tc = target->hook > RL_HOOK_XDP || link_has_ip(facts.link),
				       .leaving = target->hook == RL_HOOK_EGRESS,
				       .at_xdp = target->hook <= RL_HOOK_XDP};
	return 0;
}

int attach_mode_choose(const struct target *target, enum attach_mode *mode)
{
	const char *device = target->device;
	struct device_facts facts;
	int ret = device_link_ask(device, &facts);

	if (ret)
		return ret;
	if (facts.link == LINK_OTHER) {
		fail("%s: its packets begin with neither an Ethernet nor an IP header, which "
		     "--hook %s needs: attach to another device",
		     device, hook_name(target->hook));
		return -EOPNOTSUPP;
	}
	if (target->hook == RL_HOOK_XDP && !link_has_ip(facts.link))
		return 0;
	/* At xdp all packets of a device without Ethernet would pass as non-ip. */
	if (target->hook == RL_HOOK_XDP && *mode != ATTACH_AUTO) {
		fail("%s: its packets have no Ethernet header, which XDP needs: leave out --mode "
		     "to use tc ingress instead",
		     device);
		return -EOPNOTSUPP;
	}
	if (target->hook == RL_HOOK_XDP)
		note("%s: its packets have no Ethernet header, which XDP needs: attaching in mode "
		     "tc, at ingress",
		     device);
	*mode = ATTACH_TC;
	return 0;
}
