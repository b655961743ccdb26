/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the table of members, as its writer changes it. Pure but for the store. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "algorithm/member_hash.h"
#include "compile/member_table.h"

/* ---- member_page.c: one page
 *
 * It is a copy, which is cleaned when it is loaded and takes the place of the former page when it
 * is stored. */

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

/* The slot by its place: the lines' ways, one line after the other. */
void slot_read(const union rl_member_page *lines, bool ipv6, uint32_t place,
	       struct member_slot *out);
void slot_write(struct member_page *page, uint32_t place, const struct member_slot *slot);

/* The next slot that is not free, from *place on, which is moved past it; false: there is none.
 */
bool slot_next(const union rl_member_page *lines, bool ipv6, uint32_t *place,
	       struct member_slot *out);

/* The place of this member of this set and epoch; -1: it is not there. */
int slot_find(const union rl_member_page *lines, bool ipv6, uint64_t hash,
	      const struct member_slot *wanted);

/* Puts a member that is not there; false: there is no room for this hash. Does not count it in
 * `members`. */
bool page_put(struct member_page *page, uint64_t hash, const struct member_slot *slot);
void page_free(struct member_page *page, uint32_t place);

/* Moves to `to`, which need not be set before, what belongs there with so many pages. */
void page_part(const struct member_table *table, struct member_page *from, uint32_t number,
	       uint64_t pages, struct member_page *to);

/* Reads the page without what has expired, is of a former epoch, or belongs elsewhere: the rest
 * keeps its place. A page that is not there has no members. */
int page_load(struct member_table *table, bool ipv6, uint32_t number, struct member_page *out);

/* Writes it if it has changed, or removes it if it is empty, and counts. */
int page_store(struct member_table *table, struct member_page *page);

/* rl_member_layout.pages4, pages6. */
uint64_t pages_read(const struct member_table *table, bool ipv6);
void pages_publish(struct member_table *table, bool ipv6, uint64_t pages);

/* ---- member_layout.c: which lengths there may be around an address, how many pages there are, and
 * when members expire */

/* The member is about to be written: packets look for its length from now on. */
void guide_add(struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const struct member_slot *slot);

/* May there be members of so many bits around the address, which is as in a slot? */
bool guide_has(const struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const __u64 addr[2], uint32_t len);

static inline uint32_t pages_count(const struct member_table *table, bool ipv6)
{
	return pages_read(table, ipv6);
}

/* The page of a hash; where there is none yet, the first, which the store lacks. */
static inline uint32_t page_of(const struct member_table *table, bool ipv6, uint64_t hash)
{
	return member_page(hash, pages_read(table, ipv6));
}

/* Members of the family in all sets, and of both families in one. */
uint64_t members_held(const struct member_table *table, bool ipv6);

static inline uint64_t set_held(const struct rl_set *set)
{
	return (uint64_t)set->members[0] + set->members[1];
}

/* Pages that so many members of the family need. */
uint32_t pages_needed(bool ipv6, uint64_t members);

/* Splits the next page in turn. */
int table_split(struct member_table *table, bool ipv6);

/* Splits pages until so many more members of IPv4 and of IPv6 have room. */
int table_grow(struct member_table *table, const size_t more[2]);

/* Merges, of each family, at most so many pages that the members which are there do not need. */
int table_shrink(struct member_table *table, uint32_t most);

/* A member with this time is about to be written. */
void expiry_note(struct rl_member_layout *layout, uint32_t expires);

/* Removes what has expired until the set has at most so many members, or nothing is left to remove.
 */
int sweep_for_room(struct member_table *table, uint32_t set, uint64_t members);

/* No members of former epochs are left when it returns 0. */
int sweep_stale(struct member_table *table);

/* ---- member_batch.c: members in the order of their pages, however many there are; those of one
 * set are written together, page by page */

struct member_place {
	uint64_t key;   /* the hash, its bits in reverse order */
	uint32_t index; /* of the member, as it was given */
	bool ipv6;
};

/* IPv4 members first, then IPv6 ones; each by key, the same member by index. */
struct member_order {
	struct member_place *places; /* to be freed */
	size_t count[2];             /* IPv4, IPv6 */
};

/* Members stand `stride` bytes apart. 0 or -ENOMEM. */
int member_order_make(const struct member_table *table, const void *members, size_t stride,
		      size_t count, struct member_order *out);

uint64_t place_hash(const struct member_place *place);

/* How many of `count` places, from the first on, are of its page. */
size_t places_of_page(const struct member_table *table, const struct member_place *places,
		      size_t count);

struct member_batch {
	struct member_table *table;
	uint32_t set;
	uint32_t epoch;  /* that they are written with: 0 or RL_MEMBER_EPOCH */
	uint32_t former; /* of a swap: that of the members in force; else the same */
	struct member_entry *entries;
	struct member_order order;
	struct member_result *result;
};

uint32_t set_epoch(const struct member_table *table, uint32_t set);

/* Does the place hold the same member as the one before? */
bool place_repeats(const struct member_batch *batch, size_t place);

/* Does `a` end later than `b`? */
bool expires_later(uint32_t a, uint32_t b);

/* Writes all entries but the refused ones; there are pages for them. Those that `became` says are
 * present may stay unread. Sets `became` and *result. */
int batch_write(struct member_batch *batch);
