// SPDX-License-Identifier: GPL-2.0-only
/* rlctl complete -- WORD…: the candidates for the last word, one per line, followed by a tab and
 * its meaning; "<files>" stands for file names. Called by the scripts of `rlctl completion`.
 * Verbs, options and their arguments come from their tables; the policy parser decides which words
 * may follow in a rule.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cli/policy/cmd_rule.h"
#include "cli/policy/match_names.h"
#include "cli/sets/set_open.h"
#include "cli/words/complete.h"
#include "kernel/device/netns.h"
#include "policy/key.h"
#include "policy/names.h"

static void offer_verbs(struct completion *c, char *const *words, int count)
{
	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');
		char first[WORD_MAX];

		snprintf(first, sizeof(first), "%.*s", (int)strcspn(verb->name, " "), verb->name);
		if (verb->hidden)
			continue;
		if (!count)
			offer(c, first, second ? NULL : verb->summary);
		else if (count == 1 && second && !strcmp(first, words[0]))
			offer(c, second + 1, verb->summary);
	}
}

static void offer_help(struct completion *c)
{
	offer_verbs(c, c->command.words, c->command.word_count);
}

/* ---- rules ---- */

static void offer_addresses(struct completion *c)
{
	struct session session;
	char text[PREFIX_TEXT_MAX];

	if (session_read(&c->command, &session))
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

	if (session_read(&c->command, &session))
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

/* Offers a word if the parser accepts it after `line`, and `sample` after it (NULL: nothing): the
 * statement is complete, or the error is after the words. */
static void offer_with_sample(struct completion *c, const char *line,
			      const struct policy_context *ctx, const char *word,
			      const char *sample)
{
	char *const words[] = {(char *)word, (char *)sample};
	char *longer = words_join(line, words, sample ? 2 : 1);
	struct policy_error err = {0};
	struct rule rule;
	bool found;

	if (!statement_parse(longer, ctx, &rule, &found, &err) || err.column > strlen(longer))
		offer(c, word, NULL);
	free(longer);
}

static void offer_if_parsed(struct completion *c, const char *line,
			    const struct policy_context *ctx, const char *word)
{
	offer_with_sample(c, line, ctx, word, NULL);
}

/* A word of the language; behind `per`, sport is not the match that needs a port. */
static void offer_word_if_parsed(struct completion *c, const char *line,
				 const struct policy_context *ctx, const char *word)
{
	int count = c->command.word_count;
	bool is_key = count && !strcmp(c->command.words[count - 1], "per");

	offer_with_sample(c, line, ctx, word, is_key ? NULL : match_sample(word));
}

/* Numbers with a unit or the rest of a rate. */
static void offer_quantities(struct completion *c, const char *line,
			     const struct policy_context *ctx)
{
	static const char *const ends[] = {"/second", "/minute", "/hour", "/day", "pps",
					   "kbit",    "mbit",    "gbit",  "s",    "min",
					   "h",       "d",       "w"};
	int digits = (int)strspn(c->word, "0123456789");
	char word[WORD_MAX];

	for (size_t i = 0; digits && i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(word, sizeof(word), "%.*s%s", digits, c->word, ends[i]);
		offer_if_parsed(c, line, ctx, word);
	}
}

/* Some words of the language name services as well. Behind `per` a port is a part of the key. */
static bool port_follows(const struct completion *c)
{
	char **words = c->command.words;
	int count = c->command.word_count;

	return count &&
	       (!strcmp(words[count - 1], "sport") || !strcmp(words[count - 1], "dport")) &&
	       (count == 1 || strcmp(words[count - 2], "per") != 0);
}

/* Names of services that begin with the word: all of them would be hundreds. */
static void offer_services(struct completion *c, const char *line, const struct policy_context *ctx)
{
	size_t len = strlen(c->word);
	const struct servent *service;

	while (len && (service = getservent()))
		if (!strncmp(service->s_name, c->word, len))
			offer_if_parsed(c, line, ctx, service->s_name);
	endservent();
}

/* The instance's context, or defaults if none can be opened. */
static void context_ask(const struct completion *c, struct policy_context *out)
{
	const struct target *target = &c->command.target;
	struct instance instance;

	*out = (struct policy_context){.mtu = 1500,
				       .by_dest = target->hook == RL_HOOK_EGRESS,
				       .tc = target->hook > RL_HOOK_XDP,
				       .leaving = target->hook == RL_HOOK_EGRESS};
	if (instance_open(target, false, &instance))
		return;
	instance_context(&instance, out);
	instance_close(&instance);
}

struct value_offer {
	struct completion *c;
	const char *line;
	const struct policy_context *ctx;
};

static void offer_value(void *arg, const char *name)
{
	const struct value_offer *o = arg;

	offer_if_parsed(o->c, o->line, o->ctx, name);
}

static void offer_set_word(void *arg, const char *name)
{
	char word[RL_SET_NAME_MAX + 2];

	snprintf(word, sizeof(word), "@%s", name);
	offer_value(arg, word);
}

/* Names behind a match that has some; false: the word before is none. */
static bool offer_names(struct completion *c, const char *line, const struct policy_context *ctx)
{
	struct value_offer offered = {c, line, ctx};
	int count = c->command.word_count;

	if (port_follows(c))
		offer_services(c, line, ctx);
	return port_follows(c) ||
	       (count && match_names(c->command.words[count - 1], c->word, offer_value, &offered));
}

/* Behind while, and behind the not that follows it. */
static bool alarm_follows(const struct completion *c)
{
	char **words = c->command.words;
	int count = c->command.word_count;

	return count && (!strcmp(words[count - 1], "while") ||
			 (count > 1 && !strcmp(words[count - 1], "not") &&
			  !strcmp(words[count - 2], "while")));
}

/* The alarms of the policy in force, of which any word may be the name. */
static void alarm_names_offer(struct completion *c, bool manual)
{
	struct session session;

	if (session_read(&c->command, &session))
		return;
	for (size_t i = 0; i < session.policy.alarm_count; i++)
		if (session.policy.alarms[i].manual || !manual)
			offer(c, session.policy.alarms[i].name, NULL);
	session_close(&session);
}

static void offer_alarms(struct completion *c)
{
	if (!strcmp(c->command.words[c->command.word_count - 1], "while"))
		offer(c, "not", NULL);
	alarm_names_offer(c, false);
}

static void offer_manual(struct completion *c)
{
	alarm_names_offer(c, true);
}

/* Words that the parser accepts next. */
static void offer_language(struct completion *c)
{
	char *line = words_join("rule", c->command.words, c->command.word_count);
	struct policy_context ctx;
	struct value_offer offered = {c, line, &ctx};
	char key[KEY_WORD_MAX];
	const char *word;
	bool names;

	context_ask(c, &ctx);
	names = offer_names(c, line, &ctx);
	/* @NAME, where the parser takes it: as prefix, and after src and dst. */
	if (!names && (!c->word[0] || c->word[0] == '@'))
		set_names_offer(&c->command.target, offer_set_word, &offered);
	for (size_t i = 0; !names && (word = policy_word(i)); i++)
		offer_word_if_parsed(c, line, &ctx, word);
	if (!names)
		offer_quantities(c, line, &ctx);
	for (int i = 0; key_word_next(key, c->word, i); i++)
		offer_if_parsed(c, line, &ctx, key);
	free(line);
}

static void offer_rule(struct completion *c)
{
	bool is_new = c->command.verb->run == cmd_rule_add;

	if (is_new && alarm_follows(c))
		offer_alarms(c);
	else if (is_new)
		offer_language(c);
	if (!is_new || !c->command.word_count)
		offer_present(c);
}

/* Words that a packet may have next. */
static void offer_packet(struct completion *c)
{
	char *line = words_join("rule", c->command.words, c->command.word_count);
	struct policy_context ctx;
	const char *word;

	context_ask(c, &ctx);
	if (!offer_names(c, line, &ctx))
		for (size_t i = 0; (word = policy_word(i)); i++)
			if (!word_is_action(word))
				offer_word_if_parsed(c, line, &ctx, word);
	free(line);
}

/* ---- the position of the word ---- */

/* The words in capitals of the tables. */
static const struct kind {
	const char *name;
	void (*offer)(struct completion *c);
} kinds[] = {
	{"DEV", offer_devices},       {"FILE", offer_files}, {"POLICY", offer_policies},
	{"PCAP", offer_files},        {"DIR", offer_files},  {"NAME", offer_namespaces},
	{"ADDRESS", offer_addresses}, {"VERB", offer_help},  {"PREFIX", offer_rule},
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
		offer_verbs(c, c->command.words, c->command.word_count);
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
