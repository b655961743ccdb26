// SPDX-License-Identifier: GPL-2.0-only
/* The guard against lockout by the members of a set: what the rules in force would do to the SSH
 * session of this process if the set had them, or had them no longer.
 */
#include "cli/sets/set_parts.h"

#include <string.h>

#include "cli/guard/session.h"
#include "kernel/sets/sets.h"

/* The members of the set after the change; those of all others stay. */
struct members_then {
	const struct set_change *change;
	const struct set_members *now;
};

/* The longest of the items that holds the address, or SET_NO_MEMBER. */
static int items_len(const struct set_items *items, const uint8_t addr[16])
{
	int len = SET_NO_MEMBER;

	for (size_t i = 0; i < items->count; i++) {
		const struct member *member = &items->entries[i].member;

		if (member->len > len && prefix_contains(member->addr, member->len, addr))
			len = member->len;
	}
	return len;
}

static int len_then(const char *name, const uint8_t addr[16], void *arg)
{
	const struct members_then *then = arg;
	int now = set_member_len(then->now, name, addr), items;

	if (strcmp(name, then->change->name) != 0)
		return now;
	items = items_len(&then->change->items, addr);
	switch (then->change->verb) {
	case SET_ADD:
		return items > now ? items : now;
	case SET_DEL:
		return items == now ? SET_NO_MEMBER : now;
	case SET_SWAP:
		return items;
	case SET_FLUSH:
		return SET_NO_MEMBER;
	}
	return now;
}

/* ---- one target */

static int policy_get(void *arg, const uint8_t addr[16], const struct policy **before,
		      const struct policy **after)
{
	(void)addr;
	*before = *after = arg;
	return 0;
}

/* 0, GUARD_ASKS or < 0. */
static int target_pass(struct set_change *change, const struct target *target)
{
	struct session session;
	struct set_live live;
	struct members_then then = {change, &live.members};
	const struct set_members members = {len_then, &then};
	int rc = session_open(target, SESSION_READ, &session);

	if (rc)
		return rc;
	set_live_open(&session.instance, &live);
	rc = guard_pass(&change->guard,
			&(struct guarded){(int)session.instance.info.ifindex, &session.ctx,
					  policy_get, &session.policy, &live.members, &members});
	set_live_close(&live);
	session_close(&session);
	return rc;
}

/* Does the change say anything of the session's addresses? Seldom: then all rules are read. */
static bool has_to_do(const struct set_change *change)
{
	for (size_t i = 0; i < change->guard.sessions.count; i++) {
		const struct flow *flow = &change->guard.sessions.session[i].flow;

		if (change->verb == SET_SWAP || change->verb == SET_FLUSH ||
		    items_len(&change->items, flow->src) >= 0 ||
		    items_len(&change->items, flow->dst) >= 0)
			return true;
	}
	return false;
}

int set_guarded_apply(struct set_change *change)
{
	bool asks = guard_wanted(&change->guard) && has_to_do(change);
	int rc = 0;

	for (size_t i = 0; !rc && asks && i < change->targets.count; i++) {
		rc = target_pass(change, &change->targets.items[i]);
		if (rc == GUARD_ASKS)
			rc = guard_ask(&change->guard);
	}
	if (!rc)
		return set_change_apply(change);
	for (size_t i = 0; i < change->targets.count; i++)
		change->answers[i].failed = rc;
	change->items.count = 0;
	return rc;
}

/* ---- a list from a file */

static bool holds_session(const struct member *member, const struct flow *flow)
{
	return prefix_contains(member->addr, member->len, flow->src) ||
	       (flow->dst_known && prefix_contains(member->addr, member->len, flow->dst));
}

/* Members with the addresses of the session that would be cut off. Returns how many there were. */
static size_t members_remove(const struct set_change *change, struct member_list *list)
{
	const struct guard *guard = &change->guard;
	char text[PREFIX_TEXT_MAX];
	size_t kept = 0, count = list->count;

	for (size_t i = 0; i < count; i++) {
		const struct member_item *item = &list->items[i];

		if (!holds_session(&item->member, &guard->cut)) {
			list->items[kept++] = *item;
			continue;
		}
		member_print(text, &item->member);
		fail("set %s: %s left out: %s; to load it anyway: `rlctl set load --yes %s`",
		     change->name, text, guard->question, change->name);
	}
	list->count = kept;
	list->guarded += count - kept;
	return count - kept;
}

int set_load_guard(const struct target *target, const struct rl_set_words *words,
		   struct member_list *list, char *why, size_t size)
{
	struct set_change change = {.name = words->name, .verb = SET_SWAP};
	const struct ssh_sessions *sessions = &change.guard.sessions;
	int rc = 0;

	guard_start(&change.guard, false);
	do {
		set_items_clear(&change.items);
		for (size_t i = 0; i < list->count; i++) /* nobody asks for other addresses */
			for (size_t k = 0; k < sessions->count; k++)
				if (holds_session(&list->items[i].member,
						  &sessions->session[k].flow)) {
					set_items_add(&change.items, &list->items[i].member, 0);
					break;
				}
		rc = guard_wanted(&change.guard) ? target_pass(&change, target) : 0;
	} while (rc == GUARD_ASKS && members_remove(&change, list));
	if (rc == GUARD_ASKS)
		snprintf(why, size, "%s; to load it anyway: `rlctl set load --yes %s`",
			 change.guard.question, words->name);
	else if (rc)
		snprintf(why, size, "the policy could not be read");
	set_items_clear(&change.items);
	guard_clear(&change.guard);
	return rc ? -1 : 0;
}
