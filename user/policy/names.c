// SPDX-License-Identifier: GPL-2.0-only
/* The words of the policy language, from the tables that define them, and the names of values. */

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

/* ---- values */

static const char *const tcp_flags[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

struct name {
	const char *name;
	uint8_t number;
};

/* clang-format off */
static const struct name dscps[] = {
	{"cs0", 0}, {"cs1", 8}, {"af11", 10}, {"af12", 12}, {"af13", 14}, {"cs2", 16}, {"af21", 18},
	{"af22", 20}, {"af23", 22}, {"cs3", 24}, {"af31", 26}, {"af32", 28}, {"af33", 30}, {"cs4", 32},
	{"af41", 34}, {"af42", 36}, {"af43", 38}, {"cs5", 40}, {"ef", 46}, {"cs6", 48}, {"cs7", 56},
};

static const struct name icmp_types[] = {
	{"echo-reply", 0}, {"destination-unreachable", 3}, {"source-quench", 4}, {"redirect", 5},
	{"echo-request", 8}, {"router-advertisement", 9}, {"router-solicitation", 10},
	{"time-exceeded", 11}, {"parameter-problem", 12}, {"timestamp-request", 13},
	{"timestamp-reply", 14}, {"info-request", 15}, {"info-reply", 16},
	{"address-mask-request", 17}, {"address-mask-reply", 18},
};

static const struct name icmp6_types[] = {
	{"destination-unreachable", 1}, {"packet-too-big", 2}, {"time-exceeded", 3},
	{"parameter-problem", 4}, {"echo-request", 128}, {"echo-reply", 129},
	{"mld-listener-query", 130}, {"mld-listener-report", 131}, {"mld-listener-done", 132},
	{"nd-router-solicit", 133}, {"nd-router-advert", 134}, {"nd-neighbor-solicit", 135},
	{"nd-neighbor-advert", 136}, {"nd-redirect", 137}, {"router-renumbering", 138},
	{"ind-neighbor-solicit", 141}, {"ind-neighbor-advert", 142}, {"mld2-listener-report", 143},
};
/* clang-format on */

static int number_of(const struct name *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i].name, name))
			return names[i].number;
	return -1;
}

static const char *name_of(const struct name *names, size_t count, uint8_t number)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}

uint8_t tcp_flag_by_name(const char *name, int len)
{
	for (size_t i = 0; i < ARRAY_SIZE(tcp_flags); i++)
		if (strlen(tcp_flags[i]) == (size_t)len && !memcmp(tcp_flags[i], name, len))
			return 1u << i;
	return 0;
}

const char *tcp_flag_name(unsigned int bit)
{
	return tcp_flags[bit];
}

int dscp_by_name(const char *name)
{
	return number_of(dscps, ARRAY_SIZE(dscps), name);
}

const char *dscp_name(uint8_t dscp)
{
	return name_of(dscps, ARRAY_SIZE(dscps), dscp);
}

int icmp_type_by_name(const char *name, bool ipv6)
{
	return ipv6 ? number_of(icmp6_types, ARRAY_SIZE(icmp6_types), name)
		    : number_of(icmp_types, ARRAY_SIZE(icmp_types), name);
}

const char *icmp_type_name(uint8_t type, bool ipv6)
{
	return ipv6 ? name_of(icmp6_types, ARRAY_SIZE(icmp6_types), type)
		    : name_of(icmp_types, ARRAY_SIZE(icmp_types), type);
}
