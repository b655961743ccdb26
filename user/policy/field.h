/* SPDX-License-Identifier: GPL-2.0-only */
/* The fields of a packet, as the policy language names them: abi/fields.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* The kind of a field's argument. */
enum field_kind {
	FIELD_PROTOCOL,
	FIELD_PORTS,
	FIELD_ADDRESS,
	FIELD_FACT, /* no argument */
	FIELD_RANGE,
	FIELD_DSCP,
	FIELD_ICMP,
	FIELD_FLAGS,
	FIELD_PAYLOAD,
	FIELD_FILTER,
	FIELD_KINDS
};

struct field {
	const char *word;
	const char *argument; /* FIELD_RANGE: as errors describe it */
	enum field_kind kind;
	enum rl_header_flag has; /* the header it is in */
	uint32_t max;            /* the largest number */
	int number;              /* enum rl_number; -1: it is none */
};

extern const struct field all_fields[RL_FIELD_COUNT];            /* by enum rl_field */
extern const struct field *const number_fields[RL_NUMBERS];      /* by enum rl_number */
extern const enum rl_match_flag fields_in_order[RL_FIELD_COUNT]; /* as they are printed */

static inline enum rl_field field_of(enum rl_match_flag flag)
{
	return (enum rl_field)__builtin_ctz(flag);
}

/* For each flag of `flags` that is set, from the lowest. */
#define fields_for_each(flag, flags)                                    \
	for (unsigned int left_ = (flags), flag = left_ & -left_; flag; \
	     left_ &= left_ - 1, flag = left_ & -left_)

/* The protocols whose packets have the header, ascending; only for those after IP. Those with a
 * payload are also those that may be established. */
size_t header_protocols(enum rl_header_flag has, const uint8_t **out);
bool protocol_has(uint8_t proto, enum rl_header_flag has);

/* IPv6 packets have no such protocol: it is that of a header in front of one. */
size_t extension_headers(const uint8_t **out);

/* Beside RL_MATCH_*, in an answer: whether an address that is stated is in a set. */
#define FIELD_MEMBERS (1u << 31)
#define FIELD_ALARM   (1u << 30) /* whether an alarm is on */

/* "dport", "src, dport": the names of the fields that an answer depends on. */
#define FIELD_LISTED(bit, name, word, ...) word ", "
#define FIELDS_TEXT_MAX                    sizeof(RL_FIELDS(FIELD_LISTED) "protocol, alarm, members")
void fields_print(char out[FIELDS_TEXT_MAX], unsigned int flags);
