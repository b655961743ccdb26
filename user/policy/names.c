// SPDX-License-Identifier: GPL-2.0-only
/* The words of the policy language, from the tables that define them. */

#include "policy/names.h"

#include <stddef.h>
#include <string.h>

#include "policy/parser.h"
#include "policy/policy.h"

#define WORD(name, text, ...) text,
const char *const prefix_words[] = {RULE_PREFIXES(WORD)};
const char *const action_words[] = {RL_ACTIONS(WORD)};
const char *const algorithm_words[] = {RL_ALGORITHMS(WORD)};
const char *const key_words[] = {RL_KEYS(WORD)};
const char *const key_part_words[] = {RL_KEY_PART_WORDS(WORD)};
const char *const over_words[] = {RL_OVERS(WORD)};
const char *const keep_words[] = {RL_KEEP_CLASSES(WORD)};

#define REASON_ROW(name_, text_, passes_) {text_, passes_},
const struct reason_row reason_rows[RL_REASON_COUNT] = {RL_REASONS(REASON_ROW)};

#define PROTOCOL(name, number, has_ports) {name, number, has_ports},
static const struct protocol protocols[] = {RULE_PROTOCOLS(PROTOCOL)};

const struct protocol *protocol_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (!strcmp(name, protocols[i].name))
			return &protocols[i];
	return NULL;
}

const struct protocol *protocol_by_number(uint8_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (protocols[i].number == number)
			return &protocols[i];
	return NULL;
}

bool word_is_action(const char *word)
{
	for (int i = 0; i < RL_ACTION_COUNT; i++)
		if (!strcmp(word, action_words[i]))
			return true;
	return false;
}

#define COUNTED(...)                           +1
#define FIELDS_AT                              (0 RULE_PREFIXES(COUNTED) RULE_PROTOCOLS(COUNTED))
#define FIELD_WORD(bit, name, word, ...)       [FIELDS_AT + (bit)] = word,
#define PROTOCOL_WORD(name, number, has_ports) name,
/* "rule", the first word of a statement, is in RL_KEYS. */
static const char *const all_words[] = {
	RULE_PREFIXES(WORD) RULE_PROTOCOLS(PROTOCOL_WORD)
		RL_FIELDS(FIELD_WORD)[FIELDS_AT + RL_FIELD_COUNT] = "not",
	RL_ACTIONS(WORD) RL_ALGORITHMS(WORD) PARSER_CLAUSES(WORD) RL_KEYS(WORD) RL_OVERS(WORD)
		RL_KEEP_CLASSES(WORD) "unless",
	"set", "member", "account"};

/* Spellings of several words are made of others. */
const char *policy_word(size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_words); i++)
		if (!strchr(all_words[i], ' ') && !index--)
			return all_words[i];
	return NULL;
}
