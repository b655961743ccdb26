// SPDX-License-Identifier: GPL-2.0-only
#include "policy/field.h"

#include <netinet/in.h>
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

size_t header_protocols(enum rl_header_flag has, const uint8_t **out)
{
	static const uint8_t protos[] = {IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6};
	static const uint8_t ports[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};
	static const uint8_t icmp[] = {IPPROTO_ICMP, IPPROTO_ICMPV6};

	switch (has) {
	case RL_HAS_TCP:
		*out = ports;
		return 1;
	case RL_HAS_PORTS:
		*out = ports;
		return sizeof(ports);
	case RL_HAS_ICMP:
		*out = icmp;
		return sizeof(icmp);
	default:
		*out = protos;
		return sizeof(protos);
	}
}

bool protocol_has(uint8_t proto, enum rl_header_flag has)
{
	const uint8_t *protos;
	size_t count = header_protocols(has, &protos);

	for (size_t i = 0; i < count; i++)
		if (protos[i] == proto)
			return true;
	return false;
}

size_t extension_headers(const uint8_t **out)
{
	static const uint8_t protos[] = {
		IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_AH,
		IPPROTO_DSTOPTS, IPPROTO_MH,      139 /* HIP */,    140 /* Shim6 */};

	*out = protos;
	return sizeof(protos);
}

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
