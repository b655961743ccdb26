// SPDX-License-Identifier: GPL-2.0-only
/* The words of the policy language, from the tables of rlctl_abi.h and policy.h. */
#include <stddef.h>
#include <string.h>

#include "policy.h"
#include "policy_names.h"

#define WORD(name, text) text,
const char *const action_words[] = {RL_ACTIONS(WORD)};
const char *const algorithm_words[] = {RL_ALGORITHMS(WORD)};
const char *const key_words[] = {RL_KEYS(WORD)};
const char *const over_words[] = {RL_OVERS(WORD)};

#define PROTOCOL(name, number, has_ports) {name, number, has_ports},
static const struct protocol protocols[] = {RULE_PROTOCOLS(PROTOCOL)};

#define PROTOCOL_COUNT (sizeof(protocols) / sizeof(protocols[0]))

const struct protocol *protocol_by_name(const char *name)
{
	for (size_t i = 0; i < PROTOCOL_COUNT; i++)
		if (!strcmp(name, protocols[i].name))
			return &protocols[i];
	return NULL;
}

const struct protocol *protocol_by_number(uint8_t number)
{
	for (size_t i = 0; i < PROTOCOL_COUNT; i++)
		if (protocols[i].number == number)
			return &protocols[i];
	return NULL;
}
