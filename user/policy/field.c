// SPDX-License-Identifier: GPL-2.0-only
#include "policy/field.h"

#include <stdio.h>

#define NUMBER_OR_NONE(name, kind) 0 RL_NUMBER_IF_##kind(+1 + RL_NUMBER_##name) - 1

#define FIELD_ROW(bit, name, word_, kind_, has_, max_, argument_) \
	[RL_FIELD_##name] = {.word = word_,                       \
			     .argument = argument_,               \
			     .kind = FIELD_##kind_,               \
			     .has = RL_HAS_##has_,                \
			     .max = max_,                         \
			     .number = NUMBER_OR_NONE(name, kind_)},
const struct field all_fields[RL_FIELD_COUNT] = {RL_FIELDS(FIELD_ROW)};

#define FIELD_OF_NUMBER(bit, name, word, kind, ...) \
	RL_NUMBER_IF_##kind([RL_NUMBER_##name] = &all_fields[RL_FIELD_##name], )
const struct field *const number_fields[RL_NUMBERS] = {RL_FIELDS(FIELD_OF_NUMBER)};

#define FIELD_FLAG(bit, name, ...) RL_MATCH_##name,
const enum rl_match_flag fields_in_order[RL_FIELD_COUNT] = {RL_FIELDS(FIELD_FLAG)};

/* "proto" is the word in a policy. */
static const char *name_of(unsigned int flag)
{
	switch (flag) {
	case RL_MATCH_PROTO:
		return "protocol";
	case FIELD_ALARM:
		return "alarm";
	case FIELD_MEMBERS:
		return "members";
	default:
		return all_fields[field_of(flag)].word;
	}
}

void fields_print(char out[FIELDS_TEXT_MAX], unsigned int flags)
{
	size_t used = 0;

	out[0] = '\0';
	fields_for_each (flag, flags)
		used += snprintf(out + used, FIELDS_TEXT_MAX - used, "%s%s", used ? ", " : "",
				 name_of(flag));
}
