// SPDX-License-Identifier: GPL-2.0-only
/* harness.h: members of sets. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "harness.h"
#include "kernel/sets/sets.h"
#include "policy/sets/member.h"

#define MEMBERS_MAX 256 /* of one list */

static uint32_t session_begin(struct harness *h, struct set_session *session, const char *set)
{
	int number;

	assert_int_equal(set_session_open(&h->instance, true, session), 0);
	number = set_session_find(session, set);
	if (number < 0)
		fail_msg("no set %s", set);
	return number;
}

static void entry_read(const struct harness *h, char *word, struct member_entry *out)
{
	char *life = strstr(word, " for ");
	uint64_t ns = 0;
	bool host_bits;

	*out = (struct member_entry){0};
	if (life) {
		*life = '\0';
		if (duration_parse(life + 5, &ns))
			fail_msg("\"%s\" is no duration", life + 5);
		out->expires = member_expiry(h->now_ns, ns);
	}
	word += strspn(word, " ");
	word[strcspn(word, " ")] = '\0';
	if (member_parse(word, strlen(word), &out->member, &host_bits) || host_bits)
		fail_msg("\"%s\" is no member", word);
}

static size_t entries_read(const struct harness *h, const char *list,
			   struct member_entry out[MEMBERS_MAX])
{
	char text[4096], *rest = NULL;
	size_t count = 0;

	assert_true((size_t)snprintf(text, sizeof(text), "%s", list) < sizeof(text));
	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		assert_true(count < MEMBERS_MAX);
		entry_read(h, word, &out[count++]);
	}
	return count;
}

void harness_set_add(struct harness *h, const char *set, const char *members)
{
	struct member_entry entries[MEMBERS_MAX];
	size_t count = entries_read(h, members, entries);
	struct member_result result = {0};
	struct set_session session;
	uint32_t number = session_begin(h, &session, set);

	assert_int_equal(member_table_add(&session.table, number, entries, count, &result), 0);
	assert_int_equal(set_session_close(&session), 0);
	assert_int_equal(result.refused, 0);
}

void harness_set_delete(struct harness *h, const char *set, const char *members)
{
	struct member_entry entries[MEMBERS_MAX];
	struct member gone[MEMBERS_MAX];
	size_t count = entries_read(h, members, entries);
	struct member_result result = {0};
	struct set_session session;
	uint32_t number = session_begin(h, &session, set);

	for (size_t i = 0; i < count; i++)
		gone[i] = entries[i].member;
	assert_int_equal(member_table_delete(&session.table, number, gone, count, &result), 0);
	assert_int_equal(set_session_close(&session), 0);
}

void harness_set_swap(struct harness *h, const char *set, const char *members)
{
	struct member_entry entries[MEMBERS_MAX];
	size_t count = entries_read(h, members, entries);
	struct member_result result = {0};
	struct set_session session;
	uint32_t number = session_begin(h, &session, set);
	int ret = count ? member_table_swap(&session.table, number, entries, count, &result)
			: member_table_flush(&session.table, number);

	assert_int_equal(ret, 0);
	assert_int_equal(set_session_close(&session), 0);
}

uint64_t harness_set_matched(struct harness *h, const char *set)
{
	struct set_session session;
	struct rl_amount matched;
	uint32_t number = session_begin(h, &session, set);

	assert_int_equal(set_session_close(&session), 0);
	assert_int_equal(set_matched(&h->instance, number, &matched), 0);
	return matched.packets;
}
