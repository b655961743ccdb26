/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet that asks the table of members, step by step, so that a writer can do anything between
 * two steps: as bpf/match/sets.h does it, which is no C of the host.
 */
#pragma once

#include "member_store.h"

enum reader_step {
	READER_CHANGES,
	READER_EPOCHS,
	READER_PAGES,
	READER_LENGTH, /* takes the next length of the guide, and its page */
	READER_LINE,
	READER_END,
	READER_DONE,
};

struct reader {
	const struct memory_store *store;
	const struct rl_member_layout *layout;
	const __u64 *seed;
	uint32_t now;
	uint8_t addr[16]; /* mapped */
	bool ipv6;
	enum reader_step step;
	uint32_t changes;
	uint64_t epochs, pages;
	int len; /* that is looked for; the family's own */
	__u64 masked[2];
	const union rl_member_page *page;
	uint32_t number, line;
	int probes;
	uint64_t retries;
	uint64_t sets;                /* that have a member around the address, and … */
	int16_t longest[RL_SETS_MAX]; /* … its length, the family's own; -1: none */
};

void reader_begin(struct reader *reader, const struct member_table *table,
		  const struct memory_store *store, const uint8_t addr[16]);
/* One step; false: it has the answer. */
bool reader_go(struct reader *reader);
