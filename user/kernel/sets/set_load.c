// SPDX-License-Identifier: GPL-2.0-only
/* Loading is all or nothing: until the whole file is known to be good, the set is not touched. */
#include "kernel/sets/set_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "compile/compile.h"
#include "kernel/instance/open.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"
#include "kernel/sets/set_file.h"
#include "policy/sets/member_file.h"

int sets_words_read(const struct instance *instance, struct rl_set_words out[RL_SETS_MAX])
{
	struct compiled in_force = {0};
	int ret = policy_header_read(instance, &in_force.header);

	memset(out, 0, RL_SETS_MAX * sizeof(*out));
	if (!ret)
		ret = set_groups_read(instance, &in_force);
	if (!ret && in_force.groups)
		memcpy(out, in_force.groups->words, RL_SETS_MAX * sizeof(*out));
	compiled_clear(&in_force);
	return ret == -ENOENT ? 0 : ret;
}

struct member_entry *member_entries(const struct member_list *list, uint64_t timeout_ns,
				    uint64_t now_ns)
{
	struct member_entry *entries = calloc(list->count + 1, sizeof(*entries));

	for (size_t i = 0; entries && i < list->count; i++) {
		uint64_t life_ns = list->items[i].life_ns;

		if (!life_ns)
			life_ns = timeout_ns;
		entries[i].member = list->items[i].member;
		if (life_ns && life_ns != MEMBER_LIFE_NONE)
			entries[i].expires = member_expiry(now_ns, life_ns);
	}
	return entries;
}

/* ---- one set */

/* A set as it is to become. */
struct loading {
	const struct set_load *load;
	const struct rl_set_words *words;
	struct set_stamp stamp;
	struct member_list list;
	struct member_result result;
	const char *why; /* why the former members stay; NULL: they do not */
	char why_text[RULE_TEXT_MAX + 512];
};

/* Has `every` passed since it was loaded, or since that was tried last, and has the file changed?
 */
static bool is_wanted(const struct set_load *load, const struct rl_set_words *words,
		      const struct rl_set *set)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	uint64_t last = set->failed_ns > set->loaded_ns ? set->failed_ns : set->loaded_ns;
	struct set_stamp stamp;

	if (load->when == SET_LOAD_NOW)
		return true;
	if (load->when == SET_LOAD_DUE &&
	    (!words->every_ns || (now >= last && now - last < words->every_ns)))
		return false;
	return set_stamp_get(words, &stamp) || !set->loaded_ns || set->failed_ns ||
	       set->file_ns != stamp.time_ns || set->file_size != stamp.size ||
	       set->file_inode != stamp.inode;
}

/* A page with a message in the place of the list has an address in it, too. */
static void lines_check(struct loading *loading)
{
	const struct member_list *list = &loading->list;

	if (list->bad_count <= list->lines || (loading->load && loading->load->accepts))
		return;
	snprintf(loading->why_text, sizeof(loading->why_text),
		 "most of its lines are no addresses (%zu, and %zu are): if it is right, `rlctl "
		 "set load --yes %s`",
		 list->bad_count, list->lines, loading->words->name);
	loading->why = loading->why_text;
}

/* `now_ns`: that of dates in the file. */
static void file_read(struct loading *loading, uint64_t now_ns)
{
	const struct rl_set_words *words = loading->words;
	char *text = NULL;

	loading->list.max = words->max;
	memcpy(loading->list.shortest, words->shortest, sizeof(words->shortest));
	loading->why = set_file_read(words, &text, &loading->stamp);
	if (!loading->why)
		loading->why =
			words->source == RL_SET_MMDB
				? mmdb_read(text, loading->stamp.size, words->pick, &loading->list)
				: member_file_parse(text, loading->stamp.size, words->name, now_ns,
						    &loading->list);
	free(text);
	if (!loading->why)
		lines_check(loading);
	if (loading->why)
		return;
	member_list_unite(&loading->list);
	if (!loading->list.over && loading->list.count <= words->max)
		return;
	loading->why = loading->why_text;
	if (loading->list.work > MEMBER_WORK_MAX(words->max)) {
		snprintf(loading->why_text, sizeof(loading->why_text),
			 "it has more than %zu addresses, the same ones again included: leave out "
			 "what is there twice",
			 MEMBER_WORK_MAX(words->max));
		return;
	}
	snprintf(loading->why_text, sizeof(loading->why_text),
		 "it would have %s%zu members, and its max is %u: raise max",
		 loading->list.over ? "more than " : "", loading->list.count, words->max);
}

static uint64_t members_of(const struct rl_set *set)
{
	return (uint64_t)set->members[0] + set->members[1];
}

/* A list that was cut off by a download, or that somebody emptied, is a valid list. */
static int shrink_check(struct loading *loading, struct set_session *session, uint32_t number)
{
	const struct rl_set *set = &session->sets[number];
	uint64_t count = loading->list.count + loading->list.guarded;
	int ret;

	if (loading->load->accepts || !set->loaded_ns || set->file_words != loading->stamp.words ||
	    2 * count >= members_of(set))
		return 0;
	/* Those whose time is over are none. */
	ret = member_table_sweep(&session->table);
	if (ret || 2 * count >= members_of(set))
		return ret;
	snprintf(loading->why_text, sizeof(loading->why_text),
		 "its members would go from %" PRIu64 " to %" PRIu64
		 ", less than half: if it is right, `rlctl set load --yes %s`",
		 members_of(set), count, loading->words->name);
	loading->why = loading->why_text;
	return 0;
}

static void table_write(struct loading *loading, struct set_session *session, uint32_t number)
{
	struct rl_set *set = &session->sets[number];
	FREED struct member_entry *entries = member_entries(
		&loading->list, loading->words->timeout_ns, instance_now(session->instance));
	int ret = entries ? member_table_swap(&session->table, number, entries, loading->list.count,
					      &loading->result)
			  : -ENOMEM;

	if (ret == -ENOSPC || ret == -E2BIG)
		loading->why = "it has no room for so many members: raise max";
	else if (ret)
		loading->why = strerror(-ret);
	if (ret)
		return;
	set->loaded_ns = clock_ns(CLOCK_REALTIME);
	set->failed_ns = 0;
	set->file_ns = loading->stamp.time_ns;
	set->file_size = loading->stamp.size;
	set->file_inode = loading->stamp.inode;
	set->file_words = loading->stamp.words;
	/* It is tried again: the login may have ended by then. */
	if (loading->list.guarded)
		set->failed_ns = set->loaded_ns;
}

static bool same_source(const struct rl_set_words *a, const struct rl_set_words *b)
{
	return a->source == b->source && !strcmp(a->path, b->path) && !strcmp(a->pick, b->pick) &&
	       a->max == b->max && a->timeout_ns == b->timeout_ns &&
	       !memcmp(a->shortest, b->shortest, sizeof(a->shortest));
}

/* The policy may have been replaced since its words were read; then whoever did that loads it. */
static int session_write(struct loading *loading, struct instance *instance,
			 struct set_session *session)
{
	FREED struct rl_set_words *now = calloc(RL_SETS_MAX, sizeof(*now));
	int number = set_session_find(session, loading->words->name);
	int ret = now ? sets_words_read(instance, now) : -ENOMEM;

	if (ret || number < 0 || !same_source(&now[number], loading->words))
		return ret;
	if (!loading->why)
		ret = shrink_check(loading, session, number);
	if (!ret && !loading->why)
		table_write(loading, session, number);
	if (loading->why)
		session->sets[number].failed_ns = clock_ns(CLOCK_REALTIME);
	return ret;
}

static int set_write(struct loading *loading)
{
	struct set_session session;
	struct instance instance;
	int ret = instance_open(loading->load->target, true, &instance), closed;

	if (ret)
		return ret;
	ret = set_session_open(&instance, true, &session);
	if (!ret) {
		ret = session_write(loading, &instance, &session);
		closed = set_session_close(&session);
		ret = ret ? ret : closed;
	}
	instance_close(&instance);
	return ret == -ENOENT ? 0 : ret;
}

/* ---- messages */

static void bad_note(const struct loading *loading)
{
	const struct member_list *list = &loading->list;
	const struct rl_set_words *words = loading->words;

	for (size_t i = 0; i < list->bad_count && i < MEMBER_BAD_MAX; i++)
		note("%s:%zu: \"%s\" %s", words->path, list->bad[i].line, list->bad[i].text,
		     list->bad[i].why);
	if (list->bad_count)
		note("%s: %zu line%s left out: no address", words->path, list->bad_count,
		     list->bad_count == 1 ? "" : "s");
	if (list->wide_count)
		fail("set %s: %s: %zu prefix%s left out: wider than the set's shortest, /%u,%u%s%s",
		     words->name, words->path, list->wide_count, list->wide_count == 1 ? "" : "es",
		     words->shortest[0], words->shortest[1], list->wide.text[0] ? ": first " : "",
		     list->wide.text);
	if (list->host_bits)
		note("%s: %zu prefix%s with host bits, which were cleared", words->path,
		     list->host_bits, list->host_bits == 1 ? "" : "es");
}

static int set_load(const struct set_load *load, const struct rl_set_words *words)
{
	struct loading loading = {.load = load, .words = words};
	int ret;

	file_read(&loading, clock_ns(CLOCK_REALTIME));
	if (!loading.why && !load->accepts &&
	    load->guard(load->target, words, &loading.list, loading.why_text,
			sizeof(loading.why_text)))
		loading.why = loading.why_text;
	ret = set_write(&loading);
	if (!ret) {
		bad_note(&loading);
		if (loading.why && load->warns)
			note("warning: set %s: %s: %s: its members stay as they were", words->name,
			     words->path, loading.why);
		else if (loading.why)
			fail("set %s: %s: %s: its members stay as they were", words->name,
			     words->path, loading.why);
		ret = !load->warns && (loading.why || loading.list.guarded) ? -1 : 0;
	}
	if (load->tell)
		load->tell(words, &loading.list, &loading.result, loading.why, load->arg);
	member_list_clear(&loading.list);
	return ret;
}

/* ---- all of them */

struct known {
	struct rl_set_words words[RL_SETS_MAX];
	struct rl_set sets[RL_SETS_MAX];
};

int sets_load(struct set_load *load)
{
	struct instance instance;
	uint32_t count;
	bool failed;
	int ret;

	if (instance_open(load->target, false, &instance))
		return -1;
	FREED struct known *known = calloc(1, sizeof(*known));
	ret = known ? sets_words_read(&instance, known->words) : -ENOMEM;
	if (!ret)
		ret = sets_read(&instance, known->sets);
	if (ret)
		fail("%s: its sets could not be read: %s", instance.device, strerror(-ret));
	instance_close(&instance);
	failed = ret != 0;
	count = ret ? 0 : RL_SETS_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const struct rl_set_words *words = &known->words[i];
		bool named = !load->name_count;

		for (int n = 0; n < load->name_count; n++)
			if (words->name[0] && !strcmp(load->names[n], words->name)) {
				load->found |= 1ull << n; /* the policy has it */
				named = true;
				break;
			}
		if (!words->name[0] || !named)
			continue;
		if (words->source == RL_SET_DYNAMIC && load->name_count)
			ret = fail("set %s: it has no file: `rlctl set swap %s FILE` replaces its "
				   "members",
				   words->name, words->name);
		else if (words->source != RL_SET_DYNAMIC && is_wanted(load, words, &known->sets[i]))
			ret = set_load(load, words);
		failed = failed || ret;
	}
	return failed ? -1 : 0;
}

/* ---- without an instance, or in one of a simulation */

/* Reads the file; where there is a session, the set gets its members. `then`: NULL, if nothing is
 * to be said. */
static void set_try(const struct policy_set *set, struct set_session *session, const char *then)
{
	struct rl_set_words words;
	struct loading loading = {.words = &words};
	int number = session ? set_session_find(session, set->name) : -ENOENT;

	set_compile(set, &words);
	file_read(&loading, session ? instance_now(session->instance) : clock_ns(CLOCK_REALTIME));
	if (!loading.why && number >= 0)
		table_write(&loading, session, number);
	if (then)
		bad_note(&loading);
	if (then && loading.why)
		note("warning: set %s: %s: %s: it %s no members", words.name, words.path,
		     loading.why, then);
	member_list_clear(&loading.list);
}

void sets_files_check(const struct policy *policy)
{
	for (size_t i = 0; i < policy->set_count; i++)
		if (policy->sets[i].source != RL_SET_DYNAMIC)
			set_try(&policy->sets[i], NULL, "would have");
}

int sets_simulate(const struct instance *instance, const struct policy *policy, bool again)
{
	struct set_session session;
	int ret = set_session_open(instance, true, &session);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	for (size_t i = 0; i < policy->set_count; i++) {
		const struct policy_set *set = &policy->sets[i];

		if (set->source != RL_SET_DYNAMIC)
			set_try(set, &session, again ? NULL : "has");
		else if (!again)
			note("set %s has no file, so no packet is of a member: add `file PATH`, with what "
			     "`rlctl set list %s` prints",
			     set->name, set->name);
	}
	return set_session_close(&session);
}
