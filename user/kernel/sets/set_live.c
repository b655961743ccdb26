// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/sets/sets.h"

static int live_len(const char *name, const uint8_t addr[16], void *arg)
{
	struct set_live *live = arg;
	struct member_entry entry;
	int set;

	if (!live->open)
		return SET_UNKNOWN;
	set = set_session_find(&live->session, name);
	if (set < 0 || member_table_find(&live->session.table, set, addr, &entry))
		return SET_NO_MEMBER;
	return entry.member.len;
}

void set_live_open(const struct instance *instance, struct set_live *out)
{
	out->members = (struct set_members){.len = live_len, .arg = out};
	out->open = !set_session_open(instance, false, &out->session);
}

void set_live_close(struct set_live *live)
{
	if (live->open)
		set_session_close(&live->session);
	live->open = false;
}
