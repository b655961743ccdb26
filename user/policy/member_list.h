/* SPDX-License-Identifier: GPL-2.0-only */
/* Members as they are read from a text, and the lines of it that are none. */
#ifndef RLCTL_POLICY_MEMBER_LIST_H
#define RLCTL_POLICY_MEMBER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "member.h"

#define MEMBER_LIFE_NONE  UINT64_MAX /* for ever, whatever the set's timeout */
#define MEMBER_BAD_MAX    5          /* lines that are named */
#define MEMBER_BAD_TEXT   40         /* bytes that are shown of one */
#define MEMBER_LIST_SPARE (1u << 20) /* beyond 2 * max and this many, duplicates are looked for */

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
	bool over;        /* there are more than max: items are some of them */
	size_t host_bits; /* members that had them */
	size_t ended;     /* members whose time is over: left out */
	size_t bad_count;
	struct member_bad bad[MEMBER_BAD_MAX];
};

/* 0 or -ENOMEM. */
int member_list_add(struct member_list *list, const struct member *member, uint64_t life_ns);

/* The addresses from `first` to `last`, both mapped, as few prefixes. 0, -ENOMEM, or -EINVAL: the
 * last is before the first, or one is of IPv4 and the other of IPv6. */
int member_list_add_range(struct member_list *list, const uint8_t first[16], const uint8_t last[16],
			  uint64_t life_ns);

void member_list_bad(struct member_list *list, size_t line, const char *text, size_t size,
		     const char *why);

/* Leaves each member once, with its longest time, in order of address. */
void member_list_unite(struct member_list *list);

void member_list_clear(struct member_list *list);

#endif
