// SPDX-License-Identifier: GPL-2.0-only
/* Loading is all or nothing: until the whole file is known to be good, the set is not touched. */
#include "set_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "member_file.h"
#include "message.h"
#include "mmdb.h"
#include "open.h"
#include "policy_read.h"
#include "set_file.h"
#include "text.h"

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
	char why_text[256];
};

static bool is_loaded(const struct rl_set *set, const struct set_stamp *stamp)
{
	return set->loaded_ns && !set->failed_ns && set->file_ns == stamp->time_ns &&
	       set->file_size == stamp->size && set->file_inode == stamp->inode;
}

/* Has `every` passed since it was loaded, or since that was tried last? */
static bool is_due(const struct rl_set_words *words, const struct rl_set *set)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	uint64_t last = set->failed_ns > set->loaded_ns ? set->failed_ns : set->loaded_ns;

	return words->every_ns && (now < last || now - last >= words->every_ns);
}

static bool is_wanted(const struct set_load *load, const struct rl_set_words *words,
		      const struct rl_set *set)
{
	struct set_stamp stamp;

	if (load->when == SET_LOAD_NOW)
		return true;
	if (load->when == SET_LOAD_DUE && !is_due(words, set))
		return false;
	return set_stamp_get(words, &stamp) || !is_loaded(set, &stamp);
}

static void file_read(struct loading *loading)
{
	const struct rl_set_words *words = loading->words;
	char *text = NULL;
	size_t size = 0;

	loading->list.max = words->max;
	loading->why = set_file_read(words, &text, &size, &loading->stamp);
	if (!loading->why)
		loading->why =
			words->source == RL_SET_MMDB
				? mmdb_read(text, size, words->pick, &loading->list)
				: member_file_parse(text, size, words->name,
						    clock_ns(CLOCK_REALTIME), &loading->list);
	free(text);
	if (loading->why)
		return;
	if (loading->list.count > words->max)
		member_list_unite(&loading->list);
	if (loading->list.count <= words->max)
		return;
	snprintf(loading->why_text, sizeof(loading->why_text),
		 "it would have %s%zu members, and its max is %u: raise max",
		 loading->list.over ? "more than " : "", loading->list.count, words->max);
	loading->why = loading->why_text;
}

static void table_write(struct loading *loading, struct set_session *session, uint32_t number)
{
	struct rl_set *set = &session->sets[number];
	struct member_entry *entries = member_entries(&loading->list, loading->words->timeout_ns,
						      set_clock(session->instance));
	int ret = entries ? 0 : -ENOMEM;

	if (!ret)
		ret = member_table_swap(&session->table, number, entries, loading->list.count,
					&loading->result);
	free(entries);
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
}

static bool same_source(const struct rl_set_words *a, const struct rl_set_words *b)
{
	return a->source == b->source && !strcmp(a->path, b->path) && !strcmp(a->pick, b->pick) &&
	       a->max == b->max && a->timeout_ns == b->timeout_ns;
}

/* The policy may have been replaced since its words were read; then whoever did that loads it. */
static int session_write(struct loading *loading, struct instance *instance,
			 struct set_session *session)
{
	struct rl_set_words *now = calloc(RL_SETS_MAX, sizeof(*now));
	int number = set_session_find(session, loading->words->name);
	int ret = now ? sets_words_read(instance, now) : -ENOMEM;

	if (!ret && number >= 0 && same_source(&now[number], loading->words)) {
		if (!loading->why)
			table_write(loading, session, number);
		if (loading->why)
			session->sets[number].failed_ns = clock_ns(CLOCK_REALTIME);
	}
	free(now);
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
	if (list->host_bits)
		note("%s: %zu prefix%s with host bits, which were cleared", words->path,
		     list->host_bits, list->host_bits == 1 ? "" : "es");
}

static int outcome_report(const struct loading *loading)
{
	const struct rl_set_words *words = loading->words;
	bool warns = loading->load->warns;

	bad_note(loading);
	if (!loading->why)
		return 0;
	if (warns)
		note("warning: set %s: %s: %s: its members stay as they were", words->name,
		     words->path, loading->why);
	else
		fail("set %s: %s: %s: its members stay as they were", words->name, words->path,
		     loading->why);
	return warns ? 0 : -1;
}

static int set_load(const struct set_load *load, const struct rl_set_words *words)
{
	struct loading loading = {.load = load, .words = words};
	int ret;

	file_read(&loading);
	ret = set_write(&loading);
	if (!ret)
		ret = outcome_report(&loading);
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

static int known_read(const struct target *target, struct known *out)
{
	struct instance instance;
	int ret = instance_open(target, false, &instance);

	if (ret)
		return ret;
	ret = sets_words_read(&instance, out->words);
	if (!ret)
		ret = sets_read(&instance, out->sets);
	if (ret)
		fail("%s: its sets could not be read: %s", instance.device, strerror(-ret));
	instance_close(&instance);
	return ret;
}

/* Notes that the policy has it. */
static bool is_named(struct set_load *load, const char *name)
{
	for (int i = 0; i < load->name_count; i++) {
		if (strcmp(load->names[i], name) != 0)
			continue;
		load->found |= 1ull << i;
		return true;
	}
	return !load->name_count;
}

static int set_consider(struct set_load *load, const struct rl_set_words *words,
			const struct rl_set *set)
{
	if (words->source != RL_SET_DYNAMIC)
		return is_wanted(load, words, set) ? set_load(load, words) : 0;
	if (!load->name_count)
		return 0;
	return fail("set %s: it has no file: `rlctl set swap %s FILE` replaces its members",
		    words->name, words->name);
}

int sets_load(struct set_load *load)
{
	bool failed = false;
	struct known *known = calloc(1, sizeof(*known));
	int ret = known ? known_read(load->target, known) : fail("out of memory");

	for (uint32_t i = 0; known && !ret && i < RL_SETS_MAX; i++)
		if (known->words[i].name[0] && is_named(load, known->words[i].name))
			failed = set_consider(load, &known->words[i], &known->sets[i]) || failed;
	free(known);
	return ret || failed ? -1 : 0;
}

/* ---- without an instance */

void sets_files_check(const struct policy *policy)
{
	for (size_t i = 0; i < policy->set_count; i++) {
		const struct policy_set *set = &policy->sets[i];
		struct rl_set_words words = {
			.source = set->source, .max = set->max, .timeout_ns = set->timeout_ns};
		struct loading loading = {.words = &words};

		if (set->source == RL_SET_DYNAMIC)
			continue;
		memcpy(words.name, set->name, sizeof(words.name));
		memcpy(words.path, set->path, sizeof(words.path));
		memcpy(words.pick, set->pick, sizeof(words.pick));
		file_read(&loading);
		bad_note(&loading);
		if (loading.why)
			note("warning: set %s: %s: %s: it would have no members", words.name,
			     words.path, loading.why);
		member_list_clear(&loading.list);
	}
}
