// SPDX-License-Identifier: GPL-2.0-only
/* Members as text, and those that were read, bounded: where there are many more than may be,
 * duplicates are looked for, and if that does not help, the rest is not kept.
 */
#include "policy/sets/member_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/packets/addresses.h"

enum member_error member_parse(const char *text, size_t size, struct member *out, bool *host_bits)
{
	char word[PREFIX_TEXT_MAX + 1], canonical[PREFIX_TEXT_MAX];
	struct member member;
	int rc;

	*host_bits = false;
	if (!size || size > PREFIX_TEXT_MAX)
		return memchr(text, '%', size) ? MEMBER_ZONE : MEMBER_WRONG;
	memcpy(word, text, size);
	word[size] = '\0';
	if (strchr(word, '%'))
		return MEMBER_ZONE;
	rc = prefix_parse(word, member.addr, &member.len, canonical);
	if (rc == WORD_HOST_BITS) {
		*host_bits = true;
		rc = prefix_parse(canonical, member.addr, &member.len, NULL);
	}
	if (rc == WORD_RANGE)
		return MEMBER_LENGTH;
	if (rc == WORD_MAPPED)
		return MEMBER_MAPPED;
	if (rc)
		return MEMBER_WRONG;
	*out = member;
	return MEMBER_OK;
}

void member_print(char buf[PREFIX_TEXT_MAX], const struct member *member)
{
	prefix_print(buf, PREFIX_TEXT_MAX, member->addr, member->len);
}

/* ---- a list */

static int item_compare(const void *a, const void *b)
{
	const struct member_item *one = a, *two = b;
	int order = memcmp(one->member.addr, two->member.addr, sizeof(one->member.addr));

	return order ? order : (int)one->member.len - (int)two->member.len;
}

void member_list_unite(struct member_list *list)
{
	size_t kept = 0;

	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), item_compare);
	for (size_t i = 1; i < list->count; i++) {
		struct member_item *last = &list->items[kept], *item = &list->items[i];

		if (item_compare(last, item))
			list->items[++kept] = *item;
		else if (item->life_ns > last->life_ns)
			/* 0 is the set's, which no other text of the same file can be compared with
			 */
			last->life_ns = item->life_ns;
	}
	list->count = kept + 1;
}

/* Room for one more. 1: there is none, for there are too many members. */
static int list_grow(struct member_list *list)
{
	size_t limit = list->max ? 2 * list->max + MEMBER_LIST_SPARE : SIZE_MAX;
	size_t capacity = list->capacity ? 2 * list->capacity : 1024;
	struct member_item *items;

	if (list->count >= limit) {
		member_list_unite(list);
		list->over = list->over || list->count > list->max;
		if (list->over)
			return 1;
	}
	if (list->count < list->capacity)
		return 0;
	if (capacity > limit)
		capacity = limit;
	items = reallocarray(list->items, capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	list->capacity = capacity;
	return 0;
}

int member_list_add(struct member_list *list, const struct member *member, uint64_t life_ns)
{
	int ret;

	if (list->max && !list->over)
		list->over = ++list->work > MEMBER_WORK_MAX(list->max);
	ret = list->over ? 1 : list_grow(list);
	if (ret)
		return ret < 0 ? ret : 0;
	list->items[list->count++] = (struct member_item){*member, life_ns};
	return 0;
}

/* ---- ranges: addresses as numbers of 128 bits */

bool member_is_wide(const uint8_t shortest[2], const struct member *member)
{
	return member_is_ipv4(member) ? member->len < 96 + shortest[0] : member->len < shortest[1];
}

/* The prefixes of a range. Their number, -E2BIG or -ERANGE. */
static int range_split(const uint8_t shortest[2], u128 from, u128 to, bool ipv4,
		       struct member out[MEMBER_RANGE_MAX])
{
	for (int count = 0;;) {
		struct member member = {.len = 128};
		u128 size = 1; /* of the shortest prefix from here on that ends within the range;
			      0: all */

		while (member.len && !(from & size) && to - from >= 2 * size - 1) {
			member.len--;
			size <<= 1;
		}
		for (int i = 0; i < 16; i++)
			member.addr[i] = (uint8_t)(from >> 8 * (15 - i));
		/* A range of IPv6 addresses around the mapped ones has none of IPv4. */
		if (ipv4 || !member_is_ipv4(&member)) {
			if (member_is_wide(shortest, &member))
				return -ERANGE;
			if (count == MEMBER_RANGE_MAX)
				return -E2BIG;
			out[count++] = member;
		}
		if (!size || to - from < size)
			return count;
		from += size;
	}
}

int member_list_add_range(struct member_list *list, const uint8_t first[16], const uint8_t last[16],
			  uint64_t life_ns)
{
	u128 from = addresses_of(first, 128).at[0].first, to = addresses_of(last, 128).at[0].first;
	bool ipv4 = prefix_is_ipv4(first, 128);
	struct member members[MEMBER_RANGE_MAX];
	int count, ret = 0;

	if (from > to || ipv4 != prefix_is_ipv4(last, 128))
		return -EINVAL;
	count = range_split(list->shortest, from, to, ipv4, members);
	for (int i = 0; !ret && i < count; i++)
		ret = member_list_add(list, &members[i], life_ns);
	return count < 0 ? count : ret;
}

/* ---- bad lines */

const char MEMBER_TOO_WIDE[] = "is wider than the set takes";

void member_list_bad(struct member_list *list, size_t line, const char *text, size_t size,
		     const char *why)
{
	struct member_bad *bad = &list->wide;

	if (why == MEMBER_TOO_WIDE ? list->wide_count++ : list->bad_count++ >= MEMBER_BAD_MAX)
		return;
	if (why != MEMBER_TOO_WIDE)
		bad = &list->bad[list->bad_count - 1];
	*bad = (struct member_bad){.line = line, .why = why};
	for (size_t i = 0; i < size && i < MEMBER_BAD_TEXT; i++)
		bad->text[i] = text[i] ? text[i] : '?';
}

void member_list_clear(struct member_list *list)
{
	free(list->items);
	*list = (struct member_list){0};
}
