// SPDX-License-Identifier: GPL-2.0-only
/* Changes the members of a set, of one instance or several. Each change opens the instance, and so
 * takes the writers' lock for its own time only: a policy may change between two of them, and the
 * instance may be replaced.
 */
#include "cli/sets/set_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sets/member_list.h"

/* ---- begin */

int set_change_begin(struct set_change *change, const struct command *command, enum set_verb verb)
{
	struct set_use use;
	int rc;

	change->command = command;
	change->name = command->words[0];
	change->verb = verb;
	guard_start_own(&change->guard, option_given(command, OPTION_YES));
	rc = set_targets_choose(command, change->name, &change->targets);
	if (rc)
		return rc;
	change->answers = xcalloc(change->targets.count, sizeof(*change->answers));
	/* Several at once, so that a set that one of them does not have changes nothing anywhere.
	 */
	for (size_t i = 0; !rc && change->targets.count > 1 && i < change->targets.count; i++) {
		rc = set_use_open(&change->targets.items[i], change->name, false, &use);
		if (!rc)
			set_use_close(&use);
		else
			fail("nothing was changed on any device");
	}
	return rc;
}

/* ---- one instance */

static int report_error(const struct set_change *change, const struct set_use *use, int error)
{
	const char *device = use->instance.device;
	uint32_t max = use->session.sets[use->set].max;

	if (error == -ENOSPC)
		fail("%s: %s holds up to %" PRIu32 " members, and these are more: its former "
		     "members stay; raise its max in the policy",
		     device, change->name, max);
	else if (error == -E2BIG)
		fail("%s: %s: the table of members is full: delete members, or raise max in the "
		     "policy",
		     device, change->name);
	else
		fail("%s: %s: changing its members failed: %s", device, change->name,
		     strerror(-error));
	return error;
}

static void refused_name(const struct set_change *change, const struct set_use *use,
			 struct set_answer *answer, size_t count)
{
	uint32_t max = use->session.sets[use->set].max;
	char member[PREFIX_TEXT_MAX];

	for (size_t i = 0; answer->named < SET_NAMED_MAX && i < count; i++) {
		const struct member_entry *entry = &change->items.entries[i];

		if (entry->became != MEMBER_REFUSED)
			continue;
		member_print(member, &entry->member);
		fail("%s: %s: %s refused: the set is full (max %" PRIu32 ")", use->instance.device,
		     change->name, member, max);
		answer->named++;
	}
}

/* Moves prefixes that are wider than the set's shortest to the end. Returns how many are not. */
static size_t wide_refuse(const struct set_change *change, const struct set_use *use,
			  struct set_answer *answer)
{
	const uint8_t *shortest = use->words.shortest;
	const struct set_items *items = &change->items;
	char member[PREFIX_TEXT_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < items->count; i++) {
		const struct member_entry entry = items->entries[i];
		uint64_t life_ns = items->lives[i];

		if (member_is_wide(shortest, &entry.member))
			continue;
		items->entries[i] = items->entries[kept];
		items->lives[i] = items->lives[kept];
		items->entries[kept] = entry;
		items->lives[kept++] = life_ns;
	}
	for (size_t i = kept; i < items->count && answer->named < SET_NAMED_MAX; i++) {
		member_print(member, &items->entries[i].member);
		fail("%s: %s: %s refused: it is wider than the set's shortest, /%u,%u",
		     use->instance.device, change->name, member, shortest[0], shortest[1]);
		answer->named++;
	}
	return kept;
}

/* SET_ADD or SET_SWAP. */
static int items_put(const struct set_change *change, struct set_use *use,
		     struct set_answer *answer)
{
	size_t count = wide_refuse(change, use, answer), refused = answer->result.refused;
	struct member_entry *entries = change->items.entries;
	uint64_t now_ns = instance_now(&use->instance);
	bool adds = change->verb == SET_ADD;
	int rc;

	for (size_t i = 0; i < change->items.count; i++) {
		uint64_t life_ns =
			change->items.lives[i] ? change->items.lives[i] : use->words.timeout_ns;

		entries[i].expires = life_ns ? member_expiry(now_ns, life_ns) : 0;
	}
	rc = (adds ? member_table_add : member_table_swap)(&use->session.table, use->set, entries,
							   count, &answer->result);
	if (adds && !rc && answer->result.refused > refused)
		refused_name(change, use, answer, count);
	answer->result.refused += change->items.count - count; /* a swap counts from zero */
	if (adds) {
		use->session.changed = entries;
		use->session.changed_count = count;
	}
	return rc;
}

static int items_delete(const struct set_change *change, struct set_use *use,
			struct set_answer *answer)
{
	struct member *members = xcalloc(change->items.count + 1, sizeof(*members));
	size_t deleted = answer->result.deleted;
	int rc;

	for (size_t i = 0; i < change->items.count; i++)
		members[i] = change->items.entries[i].member;
	rc = member_table_delete(&use->session.table, use->set, members, change->items.count,
				 &answer->result);
	free(members);
	if (answer->result.deleted - deleted ==
	    change->items.count) { /* else some were not there */
		use->session.changed = change->items.entries;
		use->session.changed_count = change->items.count;
	}
	return rc;
}

static int members_flush(struct set_use *use, struct set_answer *answer)
{
	const struct rl_set *set = &use->session.sets[use->set];
	uint64_t deleted = set->deleted;
	int rc = member_table_flush(&use->session.table, use->set);

	answer->result.deleted += set->deleted - deleted;
	return rc;
}

static int target_apply(const struct set_change *change, size_t i)
{
	struct set_answer *answer = &change->answers[i];
	struct set_use use;
	int rc = set_use_open(&change->targets.items[i], change->name, true, &use), closed;

	answer->failed = rc;
	if (rc)
		return rc;
	memcpy(answer->device, use.instance.device, sizeof(answer->device));
	answer->hook = use.instance.info.hook;
	answer->opened = true;
	rc = set_verb_adds(change->verb) ? items_put(change, &use, answer)
	     : change->verb == SET_DEL   ? items_delete(change, &use, answer)
					 : members_flush(&use, answer);
	if (rc)
		report_error(change, &use, rc);
	closed = set_use_close(&use);
	answer->failed = rc || closed;
	return rc ?: closed;
}

/* ---- all of them */

int set_change_apply(struct set_change *change)
{
	int rc = 0;

	for (size_t i = 0; i < change->targets.count; i++) {
		int one = change->answers[i].failed ? 0 : target_apply(change, i);

		rc = one ? one : rc;
	}
	change->items.count = 0;
	return rc;
}

bool set_change_is_over(const struct set_change *change)
{
	for (size_t i = 0; i < change->targets.count; i++)
		if (!change->answers[i].failed)
			return false;
	return true;
}

int set_change_end(struct set_change *change)
{
	struct command command = *change->command;
	int rc = 0;

	for (size_t i = 0; i < change->targets.count; i++) {
		const struct set_answer *answer = &change->answers[i];

		if (answer->result.refused > answer->named && !answer->failed)
			fail("%s: %s: %" PRIu64 " more were refused", answer->device, change->name,
			     answer->result.refused - answer->named);
		if (answer->result.refused || answer->failed)
			rc = -1;
	}
	if (change->host_bits)
		text_note("host bits cleared in %" PRIu64 " address%s: as 10.1.2.3/8 is 10.0.0.0/8",
			  change->host_bits, change->host_bits == 1 ? "" : "es");
	if (output_json && change->targets.many)
		command.documents = json_object_new_array();
	for (size_t i = 0; i < change->targets.count; i++)
		if (change->answers[i].opened)
			set_answer_print(&command, change, &change->answers[i]);
	if (command.documents)
		json_print(command.documents);
	guard_clear(&change->guard);
	set_items_clear(&change->items);
	set_targets_clear(&change->targets);
	free(change->answers);
	return rc;
}
