/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of all sets' members (abi/sets.h), as the one writer changes it. Pure: the pages are
 * read and written by the functions of a store, the layout is memory that packets may read at the
 * same time. After any step packets find every member that is not about to change; a page that is
 * written takes the place of the former one at once.
 *
 * All functions that return int return 0, or the negative errno of the store.
 */
#pragma once

#include "policy/sets/member.h"
#include "rlctl_abi.h"

/* read: -ENOENT: there is no such page. write: makes the page if there is none. */
struct page_store {
	int (*read)(void *arg, const struct rl_member_key *key, union rl_member_page *page);
	int (*write)(void *arg, const struct rl_member_key *key, const union rl_member_page *page);
	int (*remove)(void *arg, const struct rl_member_key *key);
	void (*refresh)(
		void *arg); /* reads the layout again, of a reader that has a copy; or NULL */
	void *arg;
};

struct member_table {
	struct page_store store;
	struct rl_member_layout *layout;
	struct rl_set *sets; /* RL_SETS_MAX: the counts of members are kept here */
	__u64 seed[2];       /* rl_instance.hot_seed */
	uint32_t now;        /* member_time() */
	uint64_t incoming;   /* a bit each: sets that a swap is writing, zero otherwise */
};

/* The outcome for some members. */
struct member_result {
	size_t added;    /* they were not there, or had expired */
	size_t extended; /* they were there, and their time ends later now */
	size_t present;  /* they were there, and stay as they were */
	size_t refused;  /* the set was full, or an error came first */
	size_t deleted;
	size_t missing; /* to be deleted, and not there */
};

enum member_became { MEMBER_ADDED, MEMBER_EXTENDED, MEMBER_PRESENT, MEMBER_REFUSED };

struct member_entry {
	struct member member;
	uint32_t expires; /* member_expiry(); 0: never */
	uint8_t became;   /* enum member_became, of member_table_add and member_table_swap */
};

/* When a life of so many nanoseconds from now is over; `life_ns` is at most RL_MEMBER_LIFE_MAX. */
uint32_t member_expiry(uint64_t now_ns, uint64_t life_ns);

/* Before members are changed, and after what `sets` says has been kept. If the last writer was
 * killed in between, repairs what it has left: members that it was about to add or to delete may be
 * there or not, all others are. A swap that had not been completed has not happened. */
int member_table_begin(struct member_table *table);
void member_table_end(struct member_table *table);

/* Adds members to a set, in any order, each page of them written once; adds to *result. A member
 * that is there and expires later, or never, keeps its time. Beyond the set's `max`, the first ones
 * are taken and the others refused. After an error, `became` says which are there (all but the
 * refused), and *result has counted these; -E2BIG: the map of pages is full. */
int member_table_add(struct member_table *table, uint32_t set, struct member_entry *entries,
		     size_t count, struct member_result *result);
/* Adds to *result; after an error, those that it has not counted are as before. */
int member_table_delete(struct member_table *table, uint32_t set, const struct member *members,
			size_t count, struct member_result *result);

/* The longest member of the set around the address, or exactly this one; -ENOENT. */
int member_table_find(struct member_table *table, uint32_t set, const uint8_t addr[16],
		      struct member_entry *out);
int member_table_get(struct member_table *table, uint32_t set, const struct member *member,
		     struct member_entry *out);

/* Empties the set at once. If it could not, nothing has changed. */
int member_table_flush(struct member_table *table, uint32_t set);

/* These are the members from one moment to the next; duplicates count once, with the latest time.
 * -ENOSPC: more than the set's `max`. After any error the former members are there, and only they.
 */
int member_table_swap(struct member_table *table, uint32_t set, struct member_entry *entries,
		      size_t count, struct member_result *result);

/* Calls `tell` for each member of the sets (a bit each) that has not expired, once, in no order; it
 * returns 0 to go on. A writer may be at work: what it adds and deletes meanwhile is shown or not.
 * A set that is swapped is shown as it was before, or as it is afterwards. */
typedef int (*member_fn)(uint32_t set, const struct member_entry *entry, void *arg);
int member_table_walk(struct member_table *table, uint64_t sets, member_fn tell, void *arg);

/* Removes what has expired or is of a former epoch: from all pages, or from the next `pages` of
 * them. All: also counts anew, clears the guides of lengths that are gone, and gives pages back. */
int member_table_sweep(struct member_table *table);
int member_table_sweep_some(struct member_table *table, uint32_t pages);

/* Pages that so many members take at most. The map of pages has twice as many elements as this says
 * of the sum of all sets' `max`: a swap holds the members of a set twice. That costs a bucket of 16
 * bytes each, rounded up to a power of two. */
uint32_t member_table_pages(uint64_t members);
