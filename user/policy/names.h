/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of the policy language, for parser and printer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "rlctl_abi.h"

/* Indexed by the enums of policy.h and rlctl_abi.h. */
extern const char *const prefix_words[PREFIX_SET];
extern const char *const action_words[RL_ACTION_COUNT];
extern const char *const algorithm_words[RL_ALGORITHM_COUNT];
extern const char *const key_words[RL_KEY_PARTS];
extern const char *const key_part_words[RL_PART_COUNT];
extern const char *const over_words[RL_OVER_COUNT];   /* one of them is several words */
extern const char *const keep_words[RL_KEEP_SET - 1]; /* from RL_KEEP_NONE + 1 on */

/* The name of a reason, and whether the packet passes. */
struct reason_row {
	const char *text;
	bool passes;
};
extern const struct reason_row reason_rows[RL_REASON_COUNT];

struct protocol {
	const char *name;
	uint8_t number;
	bool has_ports;
};

/* NULL if the protocol has no name in the language. */
const struct protocol *protocol_by_name(const char *name);
const struct protocol *protocol_by_number(uint8_t number);

bool word_is_action(const char *word);

/* ---- names of TCP flags, of differentiated-services code points (RFC 2474, 2597, 3246) and of
 * ICMP types (the spellings of nft) */

/* The flag's bit in the 14th byte of a TCP header; 0 if unknown. */
uint8_t tcp_flag_by_name(const char *name, int len);
/* The name of bit 0..7 (fin … cwr). */
const char *tcp_flag_name(unsigned int bit);

/* 0..63; -1 if unknown. */
int dscp_by_name(const char *name);
/* NULL if it has none. */
const char *dscp_name(uint8_t dscp);

/* Type of ICMPv6 or ICMP: 0..255; -1 if unknown. */
int icmp_type_by_name(const char *name, bool ipv6);
/* NULL if it has none. */
const char *icmp_type_name(uint8_t type, bool ipv6);

/* ---- */

/* Word number `index` of the language, without numbers and units; NULL after the last. */
const char *policy_word(size_t index);
