// SPDX-License-Identifier: GPL-2.0-only
/* Splits a command line into options, which may be anywhere, and words. */
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "cli/cmd.h"
#include "kernel/attach/object.h"

#define LONG_BASE 256 /* getopt's values of long options begin above all letters */

_Static_assert(SOURCES_DEFAULT == 262144 && PREFIXES_DEFAULT == 262144 && BANS_DEFAULT == 65536,
	       "COMMAND_OPTIONS says so");

#define OPTION_ROW(name_, long_, letter_, argument_, help_) {long_, letter_, argument_, help_},
const struct option_row option_rows[OPTION_COUNT] = {COMMAND_OPTIONS(OPTION_ROW)};

int wrong(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		out_of_memory();
	va_end(args);
	fail("%s", text);
	free(text);
	return EXIT_USAGE;
}

char *words_join(const char *first, char *const *words, int count)
{
	size_t size = strlen(first) + 1;
	char *joined, *end;

	for (int i = 0; i < count; i++)
		size += strlen(words[i]) + strlen(" \"\"");
	joined = xcalloc(size, 1);
	end = stpcpy(joined, first);
	for (int i = 0; i < count; i++) {
		if (end != joined)
			*end++ = ' ';
		/* A shell takes away the quotation marks around the expression after `filter`. */
		if (i && !strcmp(words[i - 1], "filter") && words[i][0] != '"')
			end += sprintf(end, "\"%s\"", words[i]);
		else
			end = stpcpy(end, words[i]);
	}
	return joined;
}

/* ---- options ---- */

struct getopt_tables {
	char letters[2 + 2 * OPTION_COUNT + 1];
	struct option longs[OPTION_COUNT + 1];
};

static void tables_fill(struct getopt_tables *out)
{
	char *at =
		stpcpy(out->letters, "-:"); /* '-': return words in order; ':': print no messages */

	memset(out->longs, 0, sizeof(out->longs));
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		bool optional = row->argument && row->argument[0] == '[';

		out->longs[i].name = row->name;
		out->longs[i].val = LONG_BASE + i;
		out->longs[i].has_arg = optional        ? optional_argument
					: row->argument ? required_argument
							: no_argument;
		if (!row->letter)
			continue;
		*at++ = row->letter;
		if (row->argument)
			*at++ = ':';
	}
	*at = '\0';
}

int option_by_name(const char *name, size_t len)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_rows[i].name) == len && !memcmp(name, option_rows[i].name, len))
			return i;
	return -1;
}

int option_by_letter(char letter)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (letter && letter == option_rows[i].letter)
			return i;
	return -1;
}

static int option_of(int value)
{
	return value < LONG_BASE ? option_by_letter(value) : value - LONG_BASE;
}

static int option_unknown(const char *word, int letter)
{
	struct hint hint = {0};
	size_t len = strcspn(word, "=");
	char name[64];

	if (letter)
		return wrong("unknown option '-%c' (`rlctl help` lists the options)", letter);
	snprintf(name, sizeof(name), "%.*s", (int)len - 2, word + 2);
	hint.word = name;
	for (int i = 0; i < OPTION_COUNT; i++)
		hint_offer(&hint, option_rows[i].name);
	if (hint.best)
		return wrong("unknown option '%.*s' (did you mean --%s?)", (int)len, word,
			     hint.best);
	return wrong("unknown option '%.*s' (`rlctl help` lists the options)", (int)len, word);
}

/* Reports an option that getopt refused: ':' means that its argument is missing. */
static int option_refused(int value, const char *word)
{
	int option = optopt ? option_of(optopt) : -1;

	if (option < 0)
		return option_unknown(word, optopt);
	if (value == ':')
		return wrong("--%s requires an argument: %s", option_rows[option].name,
			     option_rows[option].argument);
	return wrong("--%s takes no argument", option_rows[option].name);
}

int choice_find(const char *choices, const char *word)
{
	size_t len = strlen(word);
	int number = 0;

	for (const char *at = choices;; number++) {
		const char *bar = strchrnul(at, '|');

		if (len == (size_t)(bar - at) && !memcmp(at, word, len))
			return number;
		if (!*bar)
			return -1;
		at = bar + 1;
	}
}

static bool is_number(const char *word)
{
	return isdigit((unsigned char)word[word[0] == '-']);
}

/* A negative number is never an option: the verb says what is wrong with it. Between two calls of
 * getopt, optind is the next whole word; before the first it is 0. */
static bool negative_take(int argc, char **argv, struct command *out)
{
	const char *word = optind && optind < argc ? argv[optind] : "";

	if (word[0] != '-' || !is_number(word))
		return false;
	argv[out->word_count++] = argv[optind++];
	return true;
}

static int option_set(struct command *command, int option, const char *argument)
{
	const struct option_row *row = &option_rows[option];
	bool repeats = option == OPTION_HOOK || option == OPTION_LOCAL || option == OPTION_ALARM;
	int choice;

	if (option == OPTION_VERBOSE)
		output_verbose++;
	if (option == OPTION_LOCAL && command->local_count == LOCALS_MAX)
		return wrong("too many --local: give %d at most, or a prefix of several",
			     LOCALS_MAX);
	if (option == OPTION_ALARM && command->alarm_count == RL_ALARMS_MAX)
		return wrong("too many --alarm: a policy has %d alarms at most", RL_ALARMS_MAX);
	if (option == OPTION_LOCAL)
		command->locals[command->local_count++] = argument;
	if (option == OPTION_ALARM)
		command->alarms[command->alarm_count++] = argument;
	if (row->argument && command->arguments[option] && !repeats)
		return wrong("--%s given twice: leave one out", row->name);
	if (option == OPTION_HOOK && command->arguments[OPTION_DIRECTION])
		return wrong("--direction and --hook exclude each other: leave one out");
	command->arguments[option] = argument;
	if (!row->argument || !strchr(row->argument, '|'))
		return 0;
	choice = choice_find(row->argument, argument);
	if (choice < 0)
		return wrong("invalid --%s '%s': use %s", row->name, argument, row->argument);
	command->choices[option] = choice;
	if (option == OPTION_DIRECTION) {
		/* The other side is a container's or a virtual machine's, or the network. */
		if (option_given(command, OPTION_HOOK))
			return wrong("--direction and --hook exclude each other: leave one out");
		command->choices[OPTION_HOOK] = choice ? RL_HOOK_EGRESS : RL_HOOK_XDP;
		command->arguments[OPTION_HOOK] = argument;
	}
	if (option == OPTION_HOOK || option == OPTION_DIRECTION)
		command->hooks |= 1u << command->choices[OPTION_HOOK];
	return 0;
}

int command_parse(int argc, char **argv, struct command *out)
{
	struct getopt_tables tables;
	int value, rc = 0;

	memset(out, 0, sizeof(*out));
	out->words = argv; /* words move to the front, over options already read */
	tables_fill(&tables);
	optind = 0; /* restarts getopt */
	while (!rc) {
		int option;

		if (negative_take(argc, argv, out))
			continue;
		value = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
		if (value == -1)
			break;
		option = option_of(value);
		if (value == 1)
			argv[out->word_count++] = optarg;
		else if (option < 0)
			rc = option_refused(value, argv[optind - 1]);
		else if (optarg || !option_rows[option].argument)
			rc = option_set(out, option, optarg ? optarg : "");
		else if (argv[optind] && is_number(argv[optind]))
			rc = option_set(out, option, argv[optind++]);
		else /* an optional argument may be a separate word only if it is a number */
			rc = option_set(out, option, "");
	}
	out->front_count = out->word_count;
	while (!rc && optind < argc)
		argv[out->word_count++] = argv[optind++];
	output_json = option_given(out, OPTION_JSON);
	output_quiet = option_given(out, OPTION_QUIET);
	out->target.device = out->arguments[OPTION_INTERFACE];
	out->target.hook = option_given(out, OPTION_HOOK) ? out->choices[OPTION_HOOK] : -1;
	out->target.bpffs =
		option_given(out, OPTION_BPFFS) ? out->arguments[OPTION_BPFFS] : BPFFS_DEFAULT;
	return rc;
}

int option_number(const struct command *command, enum option_id option, uint32_t max,
		  uint32_t usual, uint32_t *out)
{
	const char *word = command->arguments[option];
	uint64_t number;

	bool optional = option_rows[option].argument[0] == '[';

	if (!word || (optional && !*word))
		number = usual;
	else if (number_parse(word, 1, max, &number))
		return wrong("invalid --%s '%s': use a number from 1 to %" PRIu32,
			     option_rows[option].name, word, max);
	*out = (uint32_t)number;
	return 0;
}

int option_prefix_get(const char *option, const char *word, uint8_t addr[16], uint8_t *len)
{
	char canonical[PREFIX_TEXT_MAX] = "";
	int ret = prefix_parse(word, addr, len, canonical);

	if (!ret)
		return 0;
	if (*canonical)
		return wrong("invalid --%s '%s': write %s", option, word, canonical);
	return wrong("invalid --%s '%s': use an IPv4 or IPv6 address, with /LEN for a prefix",
		     option, word);
}

int selector_option(const struct command *command, const struct instance *instance,
		    const struct policy *policy, const struct rule **out)
{
	const char *words = command->arguments[OPTION_RULE];
	struct policy_error err = {0};
	struct policy_context ctx;
	struct rule selector;
	size_t count;

	*out = NULL;
	if (!words)
		return 0;
	instance_context(instance, &ctx);
	if (selector_parse(words, &ctx, &selector, &err)) {
		fail_at("--rule", words, strlen(words), &err);
		return EXIT_USAGE;
	}
	*out = policy_select(policy, &selector, &count);
	if (!*out)
		return fail("%s: no such rule: %s (`rlctl rule list` lists the rules)",
			    instance->device, words);
	if (count > 1)
		return fail("%s: '%s' selects %zu rules: add the action to select one",
			    instance->device, words, count);
	return 0;
}

int prefix_get(const char *word, uint8_t addr[16], uint8_t *len)
{
	char canonical[PREFIX_TEXT_MAX];

	switch (prefix_parse(word, addr, len, canonical)) {
	case WORD_OK:
		return 0;
	case WORD_MAPPED:
		return wrong("'%s' is an IPv4-mapped IPv6 address: write %s", word, canonical);
	default:
		return wrong("invalid address '%s': use for example 203.0.113.7 or 2001:db8::1",
			     word);
	}
}

int address_get(const char *word, uint8_t addr[16])
{
	uint8_t len;
	int rc = prefix_get(word, addr, &len);

	if (rc || len == 128)
		return rc;
	return wrong("'%s' is a prefix: use an address, or `rlctl rule list %s`", word, word);
}

option_bits options_given(const struct command *command)
{
	option_bits given = 0;

	for (int i = 0; i < OPTION_COUNT; i++)
		given |= (option_bits)option_given(command, i) << i;
	return given;
}

static bool needs_argument(int option)
{
	return option >= 0 && option_rows[option].argument &&
	       option_rows[option].argument[0] != '[';
}

int option_pending(const char *word)
{
	int option = -1;

	if (word[0] != '-' || !word[1])
		return -1;
	if (word[1] == '-')
		option = option_by_name(word + 2, strlen(word + 2));
	else
		for (const char *at = word + 1; *at && !needs_argument(option); at++) {
			option = option_by_letter(*at);
			if (needs_argument(option) && at[1])
				return -1;
		}
	return needs_argument(option) ? option : -1;
}

const char *word_after(char *line, char *const *words, int count)
{
	char *rest = line, *word = strsep(&rest, " ");

	for (int i = 0; i < count && word; i++) {
		if (strcmp(word, words[i]))
			return NULL;
		word = strsep(&rest, " ");
	}
	return word;
}

/* ---- the text of an option for a verb: its row of COMMAND_OPTIONS, or what the verb says in its
 * place
 */

/* The verb's own text of the option, or NULL. */
static const struct option_text *text_find(const struct verb *verb, int option)
{
	for (int i = 0; verb && i < OPTION_TEXTS_MAX; i++)
		if (verb->texts[i].text && (int)verb->texts[i].option == option)
			return &verb->texts[i];
	return NULL;
}

const char *option_argument(const struct verb *verb, int option)
{
	const struct option_text *own = text_find(verb, option);

	return own && own->argument ? own->argument : option_rows[option].argument;
}

const char *option_help(const struct verb *verb, int option)
{
	const struct option_text *own = text_find(verb, option);

	if (own)
		return own->text;
	if (verb && option == OPTION_INTERFACE && verb->device == DEVICE_MUST)
		return verb->many ? "the same as DEV: device, list, pattern or all"
				  : "the same as DEV";
	if (verb && option == OPTION_INTERFACE && !verb->many)
		return "device; optional while only one is attached";
	return option_rows[option].help;
}
