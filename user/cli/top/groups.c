// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/output/output.h"
#include "watch/traffic/talkers.h"

/* A prefix is a name for many sources, more than have rows, and not for half of the Internet. */
#define SOURCES_LEAST 100
#define LEN4_LEAST    (96 + 8)
#define LEN6_LEAST    16
#define HEAVY_PART    10 /* a source with a tenth of the packets has a name of its own */

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

struct top_group group_prefix(const struct talkers *talkers, const struct top_filter *filter,
			      enum talker_verdict verdict, const struct talk *all)
{
	struct rollup_item *items = xcalloc(HASH_COUNT(talkers->list) + 1, sizeof(*items));
	struct top_group group = {0};
	struct rollup found;
	size_t count = 0;

	for (const struct talker *at = talkers->list; at; at = at->hh.next) {
		uint64_t packets = talker_sum(at, verdict).packets.sum;

		if (!packets || packets * HEAVY_PART >= all->packets.sum ||
		    !filter_selects(filter, at->addr))
			continue;
		memcpy(items[count].addr, at->addr, sizeof(at->addr));
		items[count++].weight = packets;
	}
	found = rollup_make(items, count);
	free(items);
	if (found.len < (prefix_is_ipv4(found.addr, found.len) ? LEN4_LEAST : LEN6_LEAST))
		return group;
	group.len = found.len;
	memcpy(group.addr, found.addr, sizeof(group.addr));
	for (const struct talker *at = talkers->list; at; at = at->hh.next)
		if (prefix_contains(found.addr, found.len, at->addr) &&
		    filter_selects(filter, at->addr))
			group_add(&group, at, verdict);
	if (group.rare.sources < SOURCES_LEAST)
		memset(&group, 0, sizeof(group));
	return group;
}
