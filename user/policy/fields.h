/* SPDX-License-Identifier: GPL-2.0-only */
/* The fields of a packet that an answer depends on, as bits of RL_MATCH_*. */
#pragma once

/* Beside RL_MATCH_*: whether an address that is stated is in a set. */
#define FIELD_MEMBERS (1u << 31)
#define FIELD_ALARM   (1u << 30) /* whether an alarm is on */

/* "dport", "src, dport": the names of the fields. */
#define FIELDS_TEXT_MAX 128
void fields_print(char out[FIELDS_TEXT_MAX], unsigned int fields);
