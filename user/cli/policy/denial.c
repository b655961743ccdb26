// SPDX-License-Identifier: GPL-2.0-only
#include "cli/policy/denial.h"

#include <string.h>

#include "cli/sets/set_parts.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/sets.h"
#include "policy/packets/decide.h"

bool is_plain_deny(const struct rule *rule)
{
	return rule->action == RL_ACTION_DENY && !rule->match.flags && !rule->extra;
}

static void member_take(const struct instance *instance, struct set_live *sets,
			const uint8_t addr[16], struct denial *out)
{
	int set = sets->open ? set_session_find(&sets->session, out->rule.set) : -1;
	struct member_entry entry;

	if (set < 0 || member_table_find(&sets->session.table, (uint32_t)set, addr, &entry))
		return;
	member_print(out->member, &entry.member);
	out->len = entry.member.len;
	out->left_ns = set_seconds_left(entry.expires, instance_now(instance)) * NS_PER_SECOND;
}

bool denial_find(const struct instance *instance, const struct policy_context *ctx,
		 const uint8_t addr[16], struct denial *out)
{
	struct asked asked = {.by_dest = ctx->by_dest};
	CLEARED struct policy near = {0};
	CLEARED struct policy found = {0};
	struct set_live sets;
	bool denied = false;

	*out = (struct denial){0};
	set_live_open(instance, &sets);
	asked.members = &sets.members;
	memcpy(asked.addr, addr, sizeof(asked.addr));
	if (!instance_address_read(instance, addr, &near) && rules_decide(&near, &asked, &found))
		out_of_memory();
	policy_for_each (&found, rule) {
		denied = is_plain_deny(rule);
		if (denied) {
			out->rule = *rule;
			out->len = rule->len;
			out->left_ns = rule->for_ns;
			if (rule->kind == PREFIX_SET)
				member_take(instance, &sets, addr, out);
		}
		/* A rule of the device comes after those of the address, and a limit of it decides
		 * on none of them. */
		if (denied || (!rule->match.flags && !rule->extra &&
			       (rule->kind != PREFIX_DEVICE || rule->action == RL_ACTION_ALLOW)))
			break;
		out->partial = out->partial || rule->kind != PREFIX_DEVICE;
	}
	set_live_close(&sets);
	return denied;
}
