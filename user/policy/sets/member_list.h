/* SPDX-License-Identifier: GPL-2.0-only */
/* Members as they are read from a text, and the lines of it that are none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sets/member.h"

#define MEMBER_LIFE_NONE  UINT64_MAX /* for ever, whatever the set's timeout */
#define MEMBER_BAD_MAX    5          /* lines that are named */
#define MEMBER_BAD_TEXT   40         /* bytes that are shown of one */
#define MEMBER_LIST_SPARE (1u << 20) /* beyond 2 * max and this many, duplicates are looked for */
#define MEMBER_RANGE_MAX  64         /* prefixes of a range; one of IPv4 has up to 62 */
/* So many members are added, the same ones again included, before a text is given up. */
#define MEMBER_WORK_MAX(max) (4 * ((size_t)(max) + MEMBER_LIST_SPARE))

struct member_item {
	struct member member;
	uint64_t life_ns; /* from now; 0: as the set says; MEMBER_LIFE_NONE */
};

/* A line that was left out. `text` may hold any byte but zero. */
struct member_bad {
	size_t line; /* from 1 */
	const char *why;
	char text[MEMBER_BAD_TEXT + 1];
};

struct member_list {
	size_t max; /* different members; 0: any number */
	struct member_item *items;
	size_t count, capacity;
	uint8_t shortest[2]; /* prefix that is taken: of IPv4, of IPv6 */
	bool over;           /* there are more than max: items are some of them */
	size_t work;         /* members that were added, the same ones again included */
	size_t lines;        /* or elements, with a member: see member_file_parse() */
	size_t host_bits;    /* members that had them */
	size_t ended;        /* members whose time is over: left out */
	size_t bad_count;    /* lines that are left out, all but those: */
	struct member_bad bad[MEMBER_BAD_MAX];
	size_t wide_count; /* lines whose prefix is shorter than the shortest */
	struct member_bad wide;
	size_t guarded; /* members that were taken out again, for they would have cut a login */
};

/* 0 or -ENOMEM. */
int member_list_add(struct member_list *list, const struct member *member, uint64_t life_ns);

/* The addresses from `first` to `last`, both mapped, as few prefixes. 0, -ENOMEM, or -EINVAL: the
 * last is before the first, or one is of IPv4 and the other of IPv6; -E2BIG: these are more than
 * MEMBER_RANGE_MAX; -ERANGE: one is wider than the shortest. */
int member_list_add_range(struct member_list *list, const uint8_t first[16], const uint8_t last[16],
			  uint64_t life_ns);

/* Is it shorter than the shortest prefix of the list? */
bool member_is_wide(const uint8_t shortest[2], const struct member *member);

/* Counts a line, and keeps it if it is one of the first. */
void member_list_bad(struct member_list *list, size_t line, const char *text, size_t size,
		     const char *why);
extern const char MEMBER_TOO_WIDE[]; /* as `why`: counted apart */

/* Leaves each member once, with its longest time, in order of address. */
void member_list_unite(struct member_list *list);

void member_list_clear(struct member_list *list);
