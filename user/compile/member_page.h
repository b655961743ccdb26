/* SPDX-License-Identifier: GPL-2.0-only */
/* One page of the table of members, as its writer changes it: a copy, which is cleaned when it is
 * loaded and takes the place of the former page when it is stored. Pure but for the store.
 */
#pragma once

#include <stdbool.h>

#include "compile/member_table.h"

/* A member as it stands in a line. IPv4: addr[0] is the word of the packet, addr[1] is zero. */
struct member_slot {
	__u64 addr[2];
	uint32_t expires;
	uint16_t meta; /* 0: free */
};

struct member_page {
	struct rl_member_key key;
	bool ipv6;
	bool exists;   /* in the store */
	bool changed;  /* the store has something else */
	uint32_t used; /* slots that are not free */
	/* Its effect on the counts of the sets. */
	int32_t members[RL_SETS_MAX];
	uint32_t expired[RL_SETS_MAX];
	union rl_member_page lines;
};

static inline uint32_t page_lines(bool ipv6)
{
	return ipv6 ? RL_MEMBER_LINES6 : RL_MEMBER_LINES4;
}

static inline uint32_t page_ways(bool ipv6)
{
	return ipv6 ? RL_MEMBER_WAYS6 : RL_MEMBER_WAYS4;
}

static inline uint32_t page_slots(bool ipv6)
{
	return page_lines(ipv6) * page_ways(ipv6);
}

static inline uint32_t place_line(bool ipv6, uint32_t place)
{
	return ipv6 ? place / RL_MEMBER_WAYS6 : place / RL_MEMBER_WAYS4;
}

static inline uint32_t place_way(bool ipv6, uint32_t place)
{
	return ipv6 ? place % RL_MEMBER_WAYS6 : place % RL_MEMBER_WAYS4;
}

static inline struct rl_member_key page_key(bool ipv6, uint32_t number)
{
	return (struct rl_member_key){.family = ipv6 ? 6 : 4, .page = number};
}

static inline uint32_t slot_set(const struct member_slot *slot)
{
	return slot->meta & RL_MEMBER_SET;
}

static inline uint32_t slot_len(const struct member_slot *slot)
{
	return slot->meta >> RL_MEMBER_LEN_SHIFT;
}

/* A member of a set as it stands in a line; `epoch` is 0 or RL_MEMBER_EPOCH. */
void slot_of_member(const struct member *member, uint32_t set, uint32_t epoch, uint32_t expires,
		    struct member_slot *out);
void slot_to_member(const struct member_slot *slot, bool ipv6, struct member *out);
uint64_t slot_hash(const struct member_table *table, bool ipv6, const struct member_slot *slot);

/* Is it of its set's present epoch? */
bool slot_is_current(const struct member_table *table, const struct member_slot *slot);

/* The slot by its place, 0..page_slots() - 1. */
void slot_read(const union rl_member_page *lines, bool ipv6, uint32_t place,
	       struct member_slot *out);

/* The next slot that is not free, from *place on, which is moved behind it; false: there is none.
 */
bool slot_next(const union rl_member_page *lines, bool ipv6, uint32_t *place,
	       struct member_slot *out);

/* The place of this member of this set and epoch; -1: it is not there. */
int slot_find(const union rl_member_page *lines, bool ipv6, uint64_t hash,
	      const struct member_slot *wanted);

/* Puts a member that is not there; returns its place, or -1: there is no room for this hash. Does
 * not count it in `members`. */
int page_put(struct member_page *page, uint64_t hash, const struct member_slot *slot);
void page_free(struct member_page *page, uint32_t place);
void page_expires_set(struct member_page *page, uint32_t place, uint32_t expires);

/* Moves to `to`, which need not be set before, what belongs there with so many pages. */
void page_part(const struct member_table *table, struct member_page *from, uint32_t number,
	       uint64_t pages, struct member_page *to);

/* Reads the page without what has expired, is of a former epoch, or belongs elsewhere: the rest
 * keeps its place. A page that is not there has no members. */
int page_load(struct member_table *table, bool ipv6, uint32_t number, struct member_page *out);

/* Writes it if it has changed, or removes it if it is empty, and counts. */
int page_store(struct member_table *table, struct member_page *page);
int page_remove(struct member_table *table, struct member_page *page);

/* rl_member_layout.pages4, pages6. */
uint64_t pages_read(const struct member_table *table, bool ipv6);
void pages_publish(struct member_table *table, bool ipv6, uint64_t pages);
