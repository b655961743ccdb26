// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top/groups.h"

#include "base/units.h"

bool filter_selects(const struct top_filter *filter, const uint8_t addr[16])
{
	return !filter->set || prefix_contains(filter->addr, filter->len, addr);
}

void group_add(struct top_group *group, const struct talker *talker, enum talker_verdict verdict)
{
	struct talk own = talker_sum(talker, verdict);

	if (!own.packets.samples)
		return;
	talk_merge(&group->talk, &own);
	group->rare.packets = group->talk.packets;
	group->rare.sources++;
	group->rare.once += own.packets.samples == 1;
	group->rare.twice += own.packets.samples == 2;
}
