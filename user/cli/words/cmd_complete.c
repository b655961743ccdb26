// SPDX-License-Identifier: GPL-2.0-only
/* rlctl complete -- WORD…: the candidates for the last word, one per line, followed by a tab and
 * its meaning; "<files>" stands for file names. Called by the scripts of `rlctl completion`.
 * Verbs, options and their arguments come from their tables; the policy parser decides which words
 * may follow in a rule.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cli/guard/session.h"
#include "cli/sets/set_open.h"
#include "cli/words/complete.h"
#include "kernel/device/netns.h"
#include "policy/key.h"
#include "policy/names.h"

static void offer_verbs(struct completion *c)
{
	int count = c->command.word_count;

	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');
		char first[WORD_MAX];

		snprintf(first, sizeof(first), "%.*s", (int)strcspn(verb->name, " "), verb->name);
		if (verb->hidden)
			continue;
		if (!count)
			offer(c, first, second ? NULL : verb->summary);
		else if (count == 1 && second && !strcmp(first, c->command.words[0]))
			offer(c, second + 1, verb->summary);
	}
}

/* ---- rules ---- */

/* The n-th word before the one to complete, from 1; "" if there are fewer. */
static const char *word_back(const struct completion *c, int n)
{
	return c->command.word_count < n ? "" : c->command.words[c->command.word_count - n];
}

static bool is_back(const struct completion *c, int n, const char *word)
{
	return !strcmp(word_back(c, n), word);
}

static void offer_addresses(struct completion *c)
{
	struct session session;
	char text[PREFIX_TEXT_MAX];

	if (session_open(&c->command.target, SESSION_READ, &session))
		return;
	policy_for_each (&session.policy, rule) {
		if (rule->kind != PREFIX_ADDR)
			continue;
		prefix_print(text, sizeof(text), rule->addr, 128);
		offer(c, text, NULL);
	}
	session_close(&session);
}

/* Words of the rules in force. */
static void offer_present(struct completion *c)
{
	struct session session;
	char line[RULE_TEXT_MAX];

	if (session_open(&c->command.target, SESSION_READ, &session))
		return;
	policy_for_each (&session.policy, rule) {
		const char *word;

		rule_format(line, rule, &session.ctx);
		word = word_after(line, c->command.words, c->command.word_count);
		if (word)
			offer(c, word, NULL);
	}
	session_close(&session);
}

/* The words before as a statement, for the instance or for none. The caller frees c->line. */
static void statement_begin(struct completion *c)
{
	struct instance instance;

	c->line = words_join("rule", c->command.words, c->command.word_count);
	c->ctx = context_assumed(&c->command.target);
	if (instance_open(&c->command.target, false, &instance))
		return;
	instance_context(&instance, &c->ctx);
	instance_close(&instance);
}

/* A word of the language; after `per`, sport is not the match that needs a port. */
static void offer_word_if_parsed(struct completion *c, const char *word)
{
	offer_with_sample(c, word, is_back(c, 1, "per") ? NULL : match_sample(word));
}

/* Numbers with a unit or the rest of a rate. */
static void offer_quantities(struct completion *c)
{
	static const char *const ends[] = {"/second", "/minute", "/hour", "/day", "pps",
					   "kbit",    "mbit",    "gbit",  "s",    "min",
					   "h",       "d",       "w"};
	int digits = (int)strspn(c->word, "0123456789");
	char word[WORD_MAX];

	for (size_t i = 0; digits && i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(word, sizeof(word), "%.*s%s", digits, c->word, ends[i]);
		offer_if_parsed(c, word);
	}
}

static void offer_set_word(void *c, const char *name)
{
	char word[RL_SET_NAME_MAX + 2];

	snprintf(word, sizeof(word), "@%s", name);
	offer_if_parsed(c, word);
}

/* Names after a match that has some; false: the word before is none. Some words of the language
 * name services as well; after `per` a port is a part of the key. Only the services that
 * begin with the word: all of them would be hundreds. */
static bool offer_names(struct completion *c)
{
	bool port = (is_back(c, 1, "sport") || is_back(c, 1, "dport")) && !is_back(c, 2, "per");
	size_t len = strlen(c->word);
	const struct servent *service;

	if (!port)
		return match_names(c, word_back(c, 1));
	while (len && (service = getservent()))
		if (!strncmp(service->s_name, c->word, len))
			offer_if_parsed(c, service->s_name);
	endservent();
	return true;
}

/* The alarms of the policy in force, of which any word may be the name. */
static void alarm_names_offer(struct completion *c, bool manual)
{
	struct session session;

	if (session_open(&c->command.target, SESSION_READ, &session))
		return;
	for (size_t i = 0; i < session.policy.alarm_count; i++)
		if (session.policy.alarms[i].manual || !manual)
			offer(c, session.policy.alarms[i].name, NULL);
	session_close(&session);
}

static void offer_manual(struct completion *c)
{
	alarm_names_offer(c, true);
}

/* Words that the parser accepts next. */
static void offer_language(struct completion *c)
{
	char key[KEY_WORD_MAX];
	const char *word;
	bool names;

	statement_begin(c);
	names = offer_names(c);
	/* @NAME, where the parser takes it: as prefix, and after src and dst. */
	if (!names && (!c->word[0] || c->word[0] == '@'))
		set_names_offer(&c->command.target, offer_set_word, c);
	for (size_t i = 0; !names && (word = policy_word(i)); i++)
		offer_word_if_parsed(c, word);
	if (!names)
		offer_quantities(c);
	for (int i = 0; key_word_next(key, c->word, i); i++)
		offer_if_parsed(c, key);
	free(c->line);
}

static void offer_rule(struct completion *c)
{
	bool is_new = c->command.verb->run == cmd_rule_add, first = is_back(c, 1, "while");

	if (is_new && (first || (is_back(c, 1, "not") && is_back(c, 2, "while")))) {
		if (first)
			offer(c, "not", NULL);
		alarm_names_offer(c, false);
	} else if (is_new) {
		offer_language(c);
	}
	if (!is_new || !c->command.word_count)
		offer_present(c);
}

/* Words that a packet may have next. */
static void offer_packet(struct completion *c)
{
	const char *word;

	statement_begin(c);
	if (!offer_names(c))
		for (size_t i = 0; (word = policy_word(i)); i++)
			if (!word_is_action(word))
				offer_word_if_parsed(c, word);
	free(c->line);
}

/* ---- the position of the word ---- */

/* The words in capitals of the tables. */
static const struct kind {
	const char *name;
	void (*offer)(struct completion *c);
} kinds[] = {
	{"DEV", offer_devices},       {"FILE", offer_files}, {"POLICY", offer_policies},
	{"PCAP", offer_files},        {"DIR", offer_files},  {"NAME", offer_namespaces},
	{"ADDRESS", offer_addresses}, {"VERB", offer_verbs}, {"PREFIX", offer_rule},
	{"SET", offer_sets},          {"USER", offer_users}, {"PROGRAM", offer_files},
	{"ALARM", offer_manual},
};

/* "xdp|ingress|egress" word by word, "FILE|-" and "[DEV]" by the name in them. */
static void offer_argument(struct completion *c, const char *text, size_t len)
{
	size_t skip = strspn(text, "["), name = strcspn(text + skip, "|] ");
	char word[WORD_MAX];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == name && !memcmp(kinds[i].name, text + skip, name)) {
			kinds[i].offer(c);
			return;
		}
	if (!memchr(text, '|', len))
		return;
	for (const char *at = text; at < text + len; at += strcspn(at, "| ") + 1) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "| "), at);
		offer(c, word, NULL);
	}
}

static void offer_options(struct completion *c)
{
	option_bits options = c->command.verb ? c->command.verb->options : OPTIONS_INSTANCE;
	char word[WORD_MAX];

	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_in(options, i) || c->command.arguments[i])
			continue;
		snprintf(word, sizeof(word), "--%s", option_rows[i].name);
		offer(c, word, option_help(c->command.verb, i));
	}
}

/* After the verb: the word at this position of its usage, or the one that repeats. */
static void offer_word(struct completion *c)
{
	const struct verb *verb = c->command.verb;
	const char *text = verb->words;

	if (verb->device != DEVICE_NO && c->command.target.device)
		return;
	if (verb->run == cmd_explain && c->command.word_count) {
		offer_packet(c);
		return;
	}
	for (int i = 0;
	     i < c->command.word_count && (verb->words_max >= 0 || i + 1 < verb->words_min); i++) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	offer_argument(c, text, strcspn(text, " "));
}

static void complete(struct completion *c, int option)
{
	const char *argument = option >= 0 ? option_argument(c->command.verb, option) : NULL;

	if (argument)
		offer_argument(c, argument, strlen(argument));
	else if (c->word[0] == '-')
		offer_options(c);
	else if (c->command.verb)
		offer_word(c);
	else
		offer_verbs(c);
}

/* ---- the words before ---- */

/* The option of --hook=WORD; sets the word to the part after '='. */
static int option_open(struct completion *c, char *word)
{
	char *equals = strchr(word, '=');
	int option;

	if (strncmp(word, "--", 2) || !equals)
		return -1;
	option = option_by_name(word + 2, equals - word - 2);
	if (option < 0 || !option_rows[option].argument)
		return -1;
	c->word = equals + 1;
	c->before = word;
	c->before_len = (int)(equals + 1 - word);
	return option;
}

/* Parses the words before as a command line; words[-1] takes the place of the program's name. Sets
 * the verb if there is one. 0 or EXIT_USAGE. */
static int words_get(struct completion *c, char **words, int count)
{
	int used = 0, rc;

	words[count] = NULL;
	rc = command_parse(count + 1, words - 1, &c->command);
	if (rc)
		return rc;
	if (c->command.word_count)
		c->command.verb = verb_find(c->command.words, c->command.word_count, &used);
	c->command.words += used;
	c->command.word_count -= used;
	if (c->command.verb && c->command.verb->device != DEVICE_NO && c->command.word_count)
		c->command.target.device = c->command.words[0];
	return 0;
}

int cmd_complete(const struct command *command)
{
	struct completion c = {.before = "", .word = "", .offered = "\n", .offered_len = 1};
	int count = command->word_count, option = -1;
	const char *netns;

	if (count) {
		c.word = command->words[--count];
		option = option_open(&c, command->words[count]);
	}
	if (option < 0 && count) {
		option = option_pending(command->words[count - 1]);
		count -= option >= 0;
	}
	if (words_get(&c, command->words, count))
		return 0;
	netns = c.command.arguments[OPTION_NETNS];
	if (!netns || !netns_enter(netns))
		complete(&c, option);
	return 0;
}
