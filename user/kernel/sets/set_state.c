// SPDX-License-Identifier: GPL-2.0-only
/* Members that are added by hand live in the kernel only: they are saved with the wall clock's time
 * of their end, and restored with the time that is left.
 */
#include "kernel/sets/set_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/scope.h"
#include "kernel/sets/set_load.h"

static void tag_print(const struct set_session *session, char out[SET_TAG_MAX])
{
	snprintf(out, SET_TAG_MAX, "%016" PRIx64 ".%" PRIu32, (uint64_t)session->table.seed[0],
		 session->table.layout->changes);
}

int set_tag(const struct instance *instance, char out[SET_TAG_MAX])
{
	struct set_session session = {0};
	int ret = set_session_open(instance, false, &session);

	out[0] = '\0';
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	tag_print(&session, out);
	return set_session_close(&session);
}

/* ---- saving */

struct gathering {
	const char *owner;
	struct member_list lists[RL_SETS_MAX];
	uint64_t dynamic; /* a bit each */
	uint32_t now;     /* member_time() */
};

static int gather(uint32_t set, const struct member_entry *entry, void *arg)
{
	struct gathering *gathering = arg;
	uint64_t left = (uint32_t)(entry->expires - gathering->now);

	/* The time that is left until an end; 0: none. */
	return member_list_add(&gathering->lists[set], &entry->member,
			       entry->expires ? left << RL_MEMBER_TIME_SHIFT : 0);
}

static int gathering_print(struct set_session *session, struct gathering *gathering,
			   const struct rl_set_words *words, char **text, size_t *size,
			   size_t *members)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	char tag[SET_TAG_MAX];
	FILE *file;
	int ret;

	tag_print(session, tag);
	gathering->now = session->table.now;
	ret = member_table_walk(&session->table, gathering->dynamic, gather, gathering);
	file = ret ? NULL : open_memstream(text, size);
	if (!file)
		return ret ? ret : -ENOMEM;
	member_state_begin(file, now_ns, tag, gathering->owner);
	for (uint32_t i = 0; i < RL_SETS_MAX; i++) {
		struct member_list *list = &gathering->lists[i];

		if (!(gathering->dynamic >> i & 1))
			continue;
		member_list_unite(list);
		fprintf(file, "set %s\n", words[i].name);
		for (size_t m = 0; m < list->count; m++)
			member_state_member(file, &list->items[m].member,
					    list->items[m].life_ns ? now_ns + list->items[m].life_ns
								   : 0);
		*members += list->count;
	}
	return fclose(file) ? -ENOMEM : 0;
}

int set_state_print(const struct instance *instance, const char *owner, char **text, size_t *size,
		    size_t *members)
{
	FREED struct gathering *gathering = calloc(1, sizeof(*gathering));
	FREED struct rl_set_words *words = calloc(RL_SETS_MAX, sizeof(*words));
	int ret = gathering && words ? sets_words_read(instance, words) : -ENOMEM;
	struct set_session session;

	*text = NULL;
	*size = *members = 0;
	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++)
		if (words[i].name[0] && words[i].source == RL_SET_DYNAMIC)
			gathering->dynamic |= 1ull << i;
	if (!ret && gathering->dynamic) {
		ret = set_session_open(instance, false, &session);
		if (!ret) {
			gathering->owner = owner;
			ret = gathering_print(&session, gathering, words, text, size, members);
			set_session_close(&session);
		}
	}
	for (uint32_t i = 0; gathering && i < RL_SETS_MAX; i++)
		member_list_clear(&gathering->lists[i]);
	if (!ret)
		return 0;
	free(*text);
	*text = NULL;
	return fail("%s: the members of its sets could not be read: %s", instance->device,
		    strerror(-ret));
}

/* ---- restoring */

static int set_restore(struct set_session *session, const struct rl_set_words *words,
		       const struct member_state_set *saved, struct member_result *result)
{
	const char *device = session->instance->device;
	int number = set_session_find(session, saved->name), ret;

	if (number < 0 || !words[number].name[0] || words[number].source != RL_SET_DYNAMIC) {
		note("%s: set %s: the policy has no such set, or it has a file: its %zu members "
		     "are left out",
		     device, saved->name, saved->list.count);
		return 0;
	}
	FREED struct member_entry *entries =
		member_entries(&saved->list, 0, instance_now(session->instance));
	ret = entries ? member_table_add(&session->table, number, entries, saved->list.count,
					 result)
		      : -ENOMEM;
	if (ret)
		return fail("%s: set %s: restoring failed: %s", device, saved->name,
			    strerror(-ret));
	if (result->refused)
		return fail("%s: set %s: no room for %zu of its members: raise max", device,
			    saved->name, result->refused);
	return 0;
}

int set_state_restore(struct instance *instance, const struct member_state *state,
		      struct member_result *results)
{
	FREED struct rl_set_words *words = calloc(RL_SETS_MAX, sizeof(*words));
	struct set_session session = {0};
	int ret = words ? sets_words_read(instance, words) : -ENOMEM, failed = 0;

	if (!ret)
		ret = set_session_open(instance, true, &session);
	for (size_t i = 0; !ret && i < state->count; i++)
		failed = set_restore(&session, words, &state->sets[i], &results[i]) || failed;
	if (!ret && set_session_close(&session))
		failed = 1;
	if (ret == -ENOENT) {
		note("%s: the policy has no set: nothing is restored", instance->device);
		ret = 0;
	}
	return ret || failed ? -1 : 0;
}

int sets_sweep(struct instance *instance)
{
	struct set_session session = {0};
	int ret = set_session_open(instance, true, &session), closed;

	if (ret)
		return ret == -ENOENT ? 0 : -1;
	ret = member_table_sweep(&session.table);
	if (ret)
		fail("%s: removing the expired members of its sets failed: %s", instance->device,
		     strerror(-ret));
	closed = set_session_close(&session);
	return ret || closed ? -1 : 0;
}
