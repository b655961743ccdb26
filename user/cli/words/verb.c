// SPDX-License-Identifier: GPL-2.0-only
/* The verb of a command line, and the check of its options and words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "cli/cmd.h"
#include "kernel/instance/selection.h"

#define NAMES_MAX 80 /* of the second words of a family */

const struct verb *verbs;

bool verb_begins(const struct verb *verb, const char *word)
{
	size_t len = strcspn(word, " "); /* a word with a blank names no verb */

	return !word[len] && !strncmp(verb->name, word, len) &&
	       (!verb->name[len] || verb->name[len] == ' ');
}

const struct verb *verb_find(char *const *words, int count, int *used)
{
	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');

		if (!verb_begins(verb, words[0]) ||
		    (second && (count < 2 || strcmp(second + 1, words[1]) != 0)))
			continue;
		*used = second ? 2 : 1;
		return verb;
	}
	return NULL;
}

/* The first word names a family ("rule"): lists its second words. */
static int family_unknown(char *const *words, int count)
{
	struct hint hint = {.word = count > 1 ? words[1] : ""};
	char names[NAMES_MAX] = "";
	size_t used = 0;

	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');

		if (!second || !verb_begins(verb, words[0]) || used >= sizeof(names))
			continue;
		hint_offer(&hint, second + 1);
		used += snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				 second + 1);
	}
	if (hint.best)
		fail("%s: unknown subcommand '%s' (did you mean %s?)", words[0], words[1],
		     hint.best);
	else if (count > 1)
		fail("%s: unknown subcommand '%s' (one of: %s)", words[0], words[1], names);
	else
		fail("%s: missing subcommand (one of: %s)", words[0], names);
	return EXIT_USAGE;
}

/* Words of other tools, and what to write here: the verb with the nearest letters may do the
 * contrary. */
static const char *intent_find(const char *word)
{
	static const struct {
		const char *words, *instead; /* between spaces */
	} intents[] = {
		{" block deny drop reject ", "ban ADDRESS"},
		{" unblock ", "unban ADDRESS"},
		{" allow accept permit whitelist ", "rule add ADDRESS allow"},
		{" limit throttle ", "rule add any limit 1000/second"},
		{" start on enable load ", "attach DEV"},
		{" stop off disable unload ", "detach DEV"},
		{" restart reload ", "apply FILE"},
		{" rollback revert ", "undo"},
		{" log logs history drops ", "events"},
		{" bans list ", "source list"},
		{" why ", "explain ADDRESS [MATCH]"},
		{" report ", "simulate --report FILE"},
		{" version ", "--version"},
	};
	char whole[32];

	snprintf(whole, sizeof(whole), " %.29s ", word);
	for (size_t i = 0; i < sizeof(intents) / sizeof(intents[0]); i++)
		if (!strchr(word, ' ') && strstr(intents[i].words, whole))
			return intents[i].instead;
	return NULL;
}

static bool may_be_meant(const struct verb *verb, const char *name, const char *word)
{
	struct hint near = {.word = word};

	if (!verb->takes)
		return !verb->hidden;
	hint_offer(&near, name);
	return near.best && near.distance <= 1;
}

int verb_unknown(char *const *words, int count)
{
	const char *instead = intent_find(words[0]);
	struct hint hint = {.word = words[0]};
	const struct verb *best = NULL;

	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');
		const char *before = hint.best;

		if (verb_begins(verb, words[0]))
			return family_unknown(words, count);
		second = second ? second + 1 : verb->name;
		if (may_be_meant(verb, second, words[0]))
			hint_offer(&hint, second);
		if (hint.best != before)
			best = verb;
	}
	if (instead)
		return wrong("unknown verb '%s': write `rlctl %s`", words[0], instead);
	if (best)
		return wrong("unknown verb '%s' (did you mean %s?)", words[0], best->name);
	return wrong("unknown verb '%s' (`rlctl help` lists the verbs)", words[0]);
}

static int options_check(const struct command *command)
{
	const struct verb *verb = command->verb;

	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *all = option_rows[i].argument, *choices = option_argument(verb, i);

		if (!command->arguments[i])
			continue;
		if (!option_in(verb->options, i))
			return wrong(
				"%s: unsupported option --%s (`rlctl help %s` lists the options)",
				verb->name, option_rows[i].name, verb->name);
		/* The parser knows the choices of all verbs. */
		if (choices != all && strchr(all, '|') &&
		    choice_find(choices, command->arguments[i]) < 0)
			return wrong("%s: invalid --%s '%s': use %s", verb->name,
				     option_rows[i].name, command->arguments[i], choices);
	}
	if (command->hooks & (command->hooks - 1) && !verb->hooks)
		return wrong("%s: more than one --hook: choose one", verb->name);
	return 0;
}

/* The kernel's rules for device names. */
static bool is_device_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= IF_NAMESIZE || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name == '/' || *name == ':' || isspace((unsigned char)*name))
			return false;
	return true;
}

/* A list, each part of which may be a device name: a pattern too has no other bytes. */
static bool is_selection(const char *words)
{
	char part[IF_NAMESIZE];

	for (;; words++) {
		size_t len = selection_part(words);

		if (len >= sizeof(part))
			return false;
		memcpy(part, words, len);
		part[len] = '\0';
		if (!is_device_name(part))
			return false;
		words += len;
		if (!*words)
			return true;
	}
}

/* The device from its option or from the first word. */
static int device_check(struct command *command)
{
	const struct verb *verb = command->verb;
	const char *name;

	if (verb->device != DEVICE_NO && command->word_count) {
		if (command->target.device)
			return wrong("%s: device given twice, with -i and as '%s': leave one out",
				     verb->name, command->words[0]);
		command->target.device = command->words[0];
		command->words++;
		command->word_count--;
	}
	if (verb->device == DEVICE_MUST && !command->target.device)
		return wrong("%s: missing device: `rlctl %s DEV`", verb->name, verb->name);
	command->target.many = verb->many;
	name = command->target.device;
	if (!name || is_device_name(name))
		return 0;
	if (!is_selection(name))
		return wrong("invalid device name '%s': `ip link` lists the devices", name);
	return verb->many ? 0
			  : wrong("%s: takes only one device, not '%s': `ip link` lists them",
				  verb->name, name);
}

static int words_check(const struct command *command)
{
	const char *duration = command->arguments[OPTION_TRY];
	const struct verb *verb = command->verb;
	uint64_t ns;

	if (options_given(command) & verb->words_none) {
		if (!command->word_count)
			return 0;
		return wrong("%s: unexpected argument '%s' beside --file: leave one of them out",
			     verb->name, command->words[0]);
	}
	/* `apply --try FILE`: the option has taken the file for its time. */
	if (command->word_count < verb->words_min && duration && duration_parse(duration, &ns))
		return wrong("%s: --try requires a time, such as 30s: `rlctl %s --try 30s %s`",
			     verb->name, verb->name, verb->words);
	if (command->word_count < verb->words_min)
		return wrong("%s: missing argument: `rlctl %s %s`", verb->name, verb->name,
			     verb->words);
	if (verb->words_max >= 0 && command->word_count > verb->words_max)
		return wrong("%s: unexpected argument '%s': `rlctl %s%s%s`", verb->name,
			     command->words[verb->words_max], verb->name, *verb->words ? " " : "",
			     verb->words);
	return 0;
}

/* `rlctl ADDRESS` asks about it. */
int command_resolve(struct command *command)
{
	static char *const about_address[] = {"source", "show"};
	char canonical[PREFIX_TEXT_MAX];
	uint8_t addr[16], len;
	int used = 0, rc;

	command->verb = verb_find(command->words, command->word_count, &used);
	if (!command->verb && command->word_count == 1) {
		rc = prefix_parse(command->words[0], addr, &len, canonical);
		if (rc == WORD_OK || rc == WORD_MAPPED)
			command->verb = verb_find(about_address, 2, &used);
		used = 0;
	}
	if (!command->verb)
		return verb_unknown(command->words, command->word_count);
	if (command->verb->rest) { /* after `--`, unless the verb itself is one of these words */
		int front = command->front_count > used ? command->front_count : used;

		command->rest = command->words + front;
		command->rest_count = command->word_count - front;
		command->word_count = front;
	}
	command->words += used;
	command->word_count -= used;
	rc = options_check(command);
	rc = rc ?: device_check(command);
	return rc ?: words_check(command);
}
