/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet that is asked about, perhaps not in full, and whether matches hold for it. Pure. */
#pragma once

#include "policy/field.h"
#include "policy/packets/level.h"
#include "policy/policy.h"
#include "policy/packets/pset.h"
#include "policy/while.h"

/* The packet. A field that is not in `stated` may have any value. */
struct probe {
	struct rule words;        /* as it was described */
	struct pset own;          /* the packets that are described; addresses are compared apart */
	unsigned int stated;      /* RL_MATCH_*, but not SYN and FRAGMENT */
	uint8_t src[16], dst[16]; /* mapped */
	uint16_t sport, dport;
	uint8_t proto;
	bool by_dest; /* the lookup address is the destination */
	bool syn, fragment;
	bool later; /* a fragment without ports: not the first */
	bool is_new, is_established;
	const struct set_members *members; /* NULL: nothing is known of any set */
	const struct alarm_states *alarms; /* NULL: nor of any alarm that the words do not name */
};

/* From what selector_parse has read: one address, and matches that each name one value. A fragment
 * is the first if it has ports, flags, an ICMP type or a payload. NULL, or what is wrong, for a
 * message. */
const char *probe_make(const struct rule *words, bool by_dest, struct probe *out);

/* Whether the source is known, if the words do not say so. */
void probe_know_source(struct probe *probe, bool is_known);

/* UDP, and whole. */
bool probe_is_udp(const struct probe *probe);

enum holds { HOLDS_NOT, HOLDS, HOLDS_DEPENDS };

#define EXPLAIN_TEXT_MAX (144 + FIELDS_TEXT_MAX)

/* Do all matches hold for the packet, and does the rule hold by its `while`? why: which one does
 * not, or on what it depends, and then *fields are those. */
enum holds match_explain(const struct rule *rule, const struct probe *probe,
			 char why[EXPLAIN_TEXT_MAX], unsigned int *fields);
