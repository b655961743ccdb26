// SPDX-License-Identifier: GPL-2.0-only
/* rlctl set: the members of the sets that a policy defines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sets/set_open.h"
#include "cli/sets/set_parts.h"
#include "kernel/attach/hook_names.h"

/* ---- add, del */

static bool is_stream(const char *word)
{
	return !strcmp(word, "-");
}

/* The addresses of the command line: all are right, or none is taken. */
static int words_read(struct set_change *change, const char *verb, char *const *words, int count,
		      uint64_t life_ns)
{
	for (int i = 0; i < count; i++) {
		struct member member;
		bool host_bits;
		int rc;

		if (is_stream(words[i]))
			return wrong("%s: '-' beside addresses: leave one of them out", verb);
		rc = set_word_parse(words[i], &member, &host_bits);
		if (rc)
			return rc;
		change->host_bits += host_bits;
		set_items_add(&change->items, &member, life_ns);
	}
	return 0;
}

/* The change is made, unless rc says that its words are wrong. stream_ns: a stream of addresses,
 * and the life of those without one; NULL: those that were read. */
static int change_run(struct set_change *change, const struct command *command, enum set_verb verb,
		      int rc, const uint64_t *stream_ns)
{
	int ended;

	rc = rc ?: set_change_begin(change, command, verb);
	if (rc) {
		set_items_clear(&change->items);
		return rc;
	}
	rc = stream_ns ? set_stream_run(change, *stream_ns) : set_guarded_apply(change);
	ended = set_change_end(change);
	return rc ?: ended;
}

static int members_change(const struct command *command, enum set_verb verb)
{
	struct set_change change = {0};
	const char *name = command->verb->name;
	char **words = command->words + 1;
	int count = command->word_count - 1, rc = set_name_check(command->words[0]);
	uint64_t life_ns = 0;
	bool stream;

	if (!rc && verb == SET_ADD)
		rc = set_life_words(name, words, &count, &life_ns);
	if (!rc && !count)
		rc = wrong("%s: missing address: `rlctl %s %s`", name, name, command->verb->words);
	stream = count == 1 && is_stream(words[0]);
	if (!rc && !stream)
		rc = words_read(&change, name, words, count, life_ns);
	return change_run(&change, command, verb, rc, stream ? &life_ns : NULL);
}

int cmd_set_add(const struct command *command)
{
	return members_change(command, SET_ADD);
}

int cmd_set_del(const struct command *command)
{
	return members_change(command, SET_DEL);
}

/* ---- flush, swap */

int cmd_set_flush(const struct command *command)
{
	struct set_change change = {0};

	return change_run(&change, command, SET_FLUSH, set_name_check(command->words[0]), NULL);
}

/* All lines of the file, or none: a list that is half a list is not one. */
static int file_read(struct set_change *change, const char *path, const char *set)
{
	struct set_lines lines;
	int rc = set_lines_open(&lines, path);

	if (rc)
		return rc;
	while (!rc && !lines.ended) {
		rc = set_lines_read(&lines, &change->items);
		progress_report(change->items.count, "addresses", -1);
	}
	progress_over();
	change->host_bits = lines.host_bits;
	set_lines_close(&lines);
	if (!rc && lines.bad)
		rc = fail("%s: the members of %s stay as they are: correct or delete the lines "
			  "above",
			  lines.name, set);
	else if (!rc && !change->items.count)
		rc = fail("%s: no addresses: the members of %s stay as they are; `rlctl set flush "
			  "%s` empties it",
			  lines.name, set, set);
	return rc;
}

int cmd_set_swap(const struct command *command)
{
	struct set_change change = {0};
	const char *name = command->words[0];
	int rc = set_name_check(name);

	rc = rc ?: file_read(&change, command->words[1], name);
	return change_run(&change, command, SET_SWAP, rc, NULL);
}

/* ---- test, list */

typedef int (*show_fn)(const struct command *command, const struct target *target, bool many,
		       void *arg);

/* Goes on after an error. */
static int targets_show(const struct command *command, const char *name, show_fn show, void *arg)
{
	struct command one = *command;
	struct set_targets targets;
	int rc = set_targets_choose(command, name, &targets);

	if (rc)
		return rc;
	if (output_json && targets.many)
		one.documents = json_object_new_array();
	for (size_t i = 0; i < targets.count; i++) {
		int shown = show(&one, &targets.items[i], targets.many, arg);

		rc = shown ? shown : rc;
	}
	if (one.documents)
		json_print(one.documents);
	set_targets_clear(&targets);
	return rc;
}

static int test_show(const struct command *command, const struct target *target, bool many,
		     void *arg)
{
	const struct member *asked = arg;
	int least = member_is_ipv4(asked) ? 96 : 0;
	struct member_entry found;
	struct set_use use;
	int rc = set_use_open(target, command->words[0], false, &use);

	if (rc)
		return rc;
	rc = asked->len == 128 ? member_table_find(&use.session.table, use.set, asked->addr, &found)
			       : -ENOENT;
	/* Else the longest member that holds the whole prefix. */
	for (int len = asked->len; asked->len < 128 && rc == -ENOENT && len >= least; len--) {
		struct member wanted = {.len = len};

		prefix_mask(wanted.addr, asked->addr, len);
		rc = member_table_get(&use.session.table, use.set, &wanted, &found);
	}
	if (!rc || rc == -ENOENT)
		set_test_print(command, &use, asked, rc ? NULL : &found, many);
	else
		fail("%s: reading the members of %s failed: %s", use.instance.device,
		     command->words[0], strerror(-rc));
	set_use_close(&use);
	return rc;
}

int cmd_set_test(const struct command *command)
{
	struct member asked;
	bool host_bits;
	int rc = set_name_check(command->words[0]);

	rc = rc ?: set_word_parse(command->words[1], &asked, &host_bits);
	return rc ?: targets_show(command, command->words[0], test_show, &asked);
}

/* The members of one set, or the sets. */
static int list_show(const struct command *command, const struct target *target, bool many,
		     void *arg)
{
	const char *name = command->word_count ? command->words[0] : NULL;
	struct set_use use;
	int rc = name ? set_use_open(target, name, false, &use)
		      : instance_open_sets(target, false, &use.instance);

	if (rc)
		return rc;
	if (many && !output_json)
		heading_print(use.instance.device, use.instance.info.hook, arg);
	rc = name ? set_members_print(command, &use) : set_table_print(command, &use.instance);
	if (name)
		set_use_close(&use);
	else
		instance_close(&use.instance);
	return rc;
}

int cmd_set_list(const struct command *command)
{
	const char *name = command->word_count ? command->words[0] : NULL;
	bool first = true;
	int rc = name ? set_name_check(name) : 0;

	return rc ?: targets_show(command, name, list_show, &first);
}
