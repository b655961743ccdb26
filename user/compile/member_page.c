// SPDX-License-Identifier: GPL-2.0-only
/* One page of the table of members. Members keep their places in it from one version to the next,
 * so that a packet that reads while the kernel puts the next version into the same memory still
 * finds those that stay.
 */
#include "compile/member_parts.h"

#include <errno.h>
#include <string.h>

static uint32_t page_lines(bool ipv6)
{
	return ipv6 ? RL_MEMBER_LINES6 : RL_MEMBER_LINES4;
}

static uint32_t page_ways(bool ipv6)
{
	return ipv6 ? RL_MEMBER_WAYS6 : RL_MEMBER_WAYS4;
}

static uint32_t place_line(bool ipv6, uint32_t place)
{
	return ipv6 ? place / RL_MEMBER_WAYS6 : place / RL_MEMBER_WAYS4;
}

static uint32_t place_way(bool ipv6, uint32_t place)
{
	return ipv6 ? place % RL_MEMBER_WAYS6 : place % RL_MEMBER_WAYS4;
}

/* ---- slots */

void slot_of_member(const struct member *member, uint32_t set, uint32_t epoch, uint32_t expires,
		    struct member_slot *out)
{
	bool ipv4 = member_is_ipv4(member);
	uint32_t len = ipv4 ? member->len - RL_MAPPED_BITS : member->len, word;

	*out = (struct member_slot){.expires = expires};
	out->meta = RL_MEMBER_USED | set | epoch | len << RL_MEMBER_LEN_SHIFT;
	if (ipv4) {
		memcpy(&word, member->addr + RL_MAPPED_BITS / 8, sizeof(word));
		out->addr[0] = word;
	} else {
		memcpy(out->addr, member->addr, sizeof(out->addr));
	}
}

void slot_to_member(const struct member_slot *slot, bool ipv6, struct member *out)
{
	uint32_t word = slot->addr[0];

	if (ipv6) {
		memcpy(out->addr, slot->addr, sizeof(out->addr));
		out->len = slot_len(slot);
		return;
	}
	memset(out->addr, 0, 10);
	memset(out->addr + 10, 0xff, 2);
	memcpy(out->addr + RL_MAPPED_BITS / 8, &word, sizeof(word));
	out->len = RL_MAPPED_BITS + slot_len(slot);
}

uint64_t slot_hash(const struct member_table *table, bool ipv6, const struct member_slot *slot)
{
	if (ipv6)
		return member_hash6(table->seed, slot->addr, slot_len(slot));
	return member_hash4(table->seed, slot->addr[0], slot_len(slot));
}

bool slot_is_current(const struct member_table *table, const struct member_slot *slot)
{
	return !(slot->meta & RL_MEMBER_EPOCH) == !(table->layout->epochs >> slot_set(slot) & 1);
}

void slot_read(const union rl_member_page *lines, bool ipv6, uint32_t place,
	       struct member_slot *out)
{
	uint32_t line = place_line(ipv6, place), way = place_way(ipv6, place);

	if (ipv6) {
		const struct rl_member_line6 *from = &lines->line6[line];

		*out = (struct member_slot){.addr = {from->addr[way][0], from->addr[way][1]},
					    .expires = from->expires[way],
					    .meta = from->meta[way]};
	} else {
		const struct rl_member_line4 *from = &lines->line4[line];

		*out = (struct member_slot){.addr = {from->addr[way]},
					    .expires = from->expires[way],
					    .meta = from->meta[way]};
	}
}

static uint16_t meta_at(const union rl_member_page *lines, bool ipv6, uint32_t place)
{
	uint32_t line = place_line(ipv6, place), way = place_way(ipv6, place);

	return ipv6 ? lines->line6[line].meta[way] : lines->line4[line].meta[way];
}

bool slot_next(const union rl_member_page *lines, bool ipv6, uint32_t *place,
	       struct member_slot *out)
{
	uint32_t slots = page_lines(ipv6) * page_ways(ipv6);

	while (*place < slots && !meta_at(lines, ipv6, *place))
		++*place;
	if (*place == slots)
		return false;
	slot_read(lines, ipv6, (*place)++, out);
	return true;
}

void slot_write(struct member_page *page, uint32_t place, const struct member_slot *slot)
{
	uint32_t line = place_line(page->ipv6, place), way = place_way(page->ipv6, place);

	page->changed = true;
	if (page->ipv6) {
		struct rl_member_line6 *to = &page->lines.line6[line];

		memcpy(to->addr[way], slot->addr, sizeof(to->addr[way]));
		to->expires[way] = slot->expires;
		to->meta[way] = slot->meta;
	} else {
		struct rl_member_line4 *to = &page->lines.line4[line];

		to->addr[way] = slot->addr[0];
		to->expires[way] = slot->expires;
		to->meta[way] = slot->meta;
	}
}

/* ---- lines */

static __u32 *line_word(union rl_member_page *lines, bool ipv6, uint32_t line)
{
	return ipv6 ? &lines->line6[line].page : &lines->line4[line].page;
}

static uint32_t line_next(bool ipv6, uint32_t line)
{
	return line + 1 < page_lines(ipv6) ? line + 1 : 0;
}

/* The place in the line that has this member; `meta` 0: the first that is free. -1: there is none.
 */
static int line_find(const union rl_member_page *lines, bool ipv6, uint32_t line,
		     const struct member_slot *wanted)
{
	uint32_t end = (line + 1) * page_ways(ipv6);
	struct member_slot slot;

	for (uint32_t place = line * page_ways(ipv6); place < end; place++) {
		if (meta_at(lines, ipv6, place) != wanted->meta)
			continue;
		slot_read(lines, ipv6, place, &slot);
		if (!wanted->meta || !memcmp(slot.addr, wanted->addr, sizeof(slot.addr)))
			return place;
	}
	return -1;
}

int slot_find(const union rl_member_page *lines, bool ipv6, uint64_t hash,
	      const struct member_slot *wanted)
{
	uint32_t line = member_line(hash, page_lines(ipv6));

	for (int probe = 0; probe < RL_MEMBER_PROBES; probe++, line = line_next(ipv6, line)) {
		int place = line_find(lines, ipv6, line, wanted);

		if (place >= 0)
			return place;
		if (!((ipv6 ? lines->line6[line].page : lines->line4[line].page) & RL_MEMBER_FULL))
			return -1;
	}
	return -1;
}

/* A member with this hash stands in `last`: whoever looks for it has to go on until there. */
static void lines_pass(struct member_page *page, uint64_t hash, uint32_t last)
{
	uint32_t line = member_line(hash, page_lines(page->ipv6));

	for (; line != last; line = line_next(page->ipv6, line))
		*line_word(&page->lines, page->ipv6, line) |= RL_MEMBER_FULL;
}

bool page_put(struct member_page *page, uint64_t hash, const struct member_slot *slot)
{
	static const struct member_slot room;
	uint32_t line = member_line(hash, page_lines(page->ipv6));

	for (int probe = 0; probe < RL_MEMBER_PROBES; probe++, line = line_next(page->ipv6, line)) {
		int place = line_find(&page->lines, page->ipv6, line, &room);

		if (place < 0)
			continue;
		lines_pass(page, hash, line);
		slot_write(page, place, slot);
		page->used++;
		return true;
	}
	return false;
}

void page_free(struct member_page *page, uint32_t place)
{
	slot_write(page, place, &(struct member_slot){0});
	page->used--;
}

/* ---- pages */

uint64_t pages_read(const struct member_table *table, bool ipv6)
{
	const __u64 *pages = ipv6 ? &table->layout->pages6 : &table->layout->pages4;

	return __atomic_load_n(pages, __ATOMIC_ACQUIRE);
}

void pages_publish(struct member_table *table, bool ipv6, uint64_t pages)
{
	__u64 *to = ipv6 ? &table->layout->pages6 : &table->layout->pages4;

	__atomic_store_n(to, pages, __ATOMIC_SEQ_CST);
}

static void page_begin(struct member_page *page, bool ipv6, uint32_t number)
{
	memset(page, 0, sizeof(*page));
	page->key = page_key(ipv6, number);
	page->ipv6 = ipv6;
}

/* Numbers the lines anew; then each member marks those that it has passed. */
static void lines_begin(struct member_page *page)
{
	for (uint32_t line = 0; line < page_lines(page->ipv6); line++)
		*line_word(&page->lines, page->ipv6, line) = page->key.page << 1;
}

/* Is the member to stay? If not, counts why. */
static bool slot_stays(const struct member_table *table, struct member_page *page,
		       const struct member_slot *slot)
{
	bool current = slot_is_current(table, slot);

	if (!current && !(table->incoming >> slot_set(slot) & 1))
		return false;
	if (!member_expired(slot->expires, table->now))
		return true;
	if (current) {
		page->members[slot_set(slot)]--;
		page->expired[slot_set(slot)]++;
	}
	return false;
}

static void page_clean(const struct member_table *table, struct member_page *page)
{
	uint64_t pages = pages_read(table, page->ipv6);
	struct member_slot slot;
	uint32_t next = 0;

	lines_begin(page);
	while (slot_next(&page->lines, page->ipv6, &next, &slot)) {
		uint64_t hash = slot_hash(table, page->ipv6, &slot);

		page->used++;
		if (member_page(hash, pages) != page->key.page || !slot_stays(table, page, &slot))
			page_free(page, next - 1);
		else
			lines_pass(page, hash, place_line(page->ipv6, next - 1));
	}
}

void page_part(const struct member_table *table, struct member_page *from, uint32_t number,
	       uint64_t pages, struct member_page *to)
{
	struct member_slot slot;
	uint32_t next = 0;

	page_begin(to, from->ipv6, number);
	lines_begin(to);
	while (slot_next(&from->lines, from->ipv6, &next, &slot)) {
		uint64_t hash = slot_hash(table, from->ipv6, &slot);

		if (member_page(hash, pages) != number)
			continue;
		lines_pass(to, hash, place_line(to->ipv6, next - 1));
		slot_write(to, next - 1, &slot);
		to->used++;
		page_free(from, next - 1);
	}
}

int page_load(struct member_table *table, bool ipv6, uint32_t number, struct member_page *out)
{
	int ret;

	page_begin(out, ipv6, number);
	ret = table->store.read(table->store.arg, &out->key, &out->lines);
	if (ret && ret != -ENOENT)
		return ret;
	out->exists = !ret;
	page_clean(table, out);
	return 0;
}

int page_store(struct member_table *table, struct member_page *page)
{
	struct rl_member_layout *layout = table->layout;
	int ret = 0;

	if (!page->changed)
		return 0;
	/* A page that packets have found so far may be gone with the next change of a page
	 * (abi/sets.h). */
	if (page->used || page->exists)
		__atomic_store_n(&layout->changes, layout->changes + 1, __ATOMIC_SEQ_CST);
	if (page->used)
		ret = table->store.write(table->store.arg, &page->key, &page->lines);
	else if (page->exists)
		ret = table->store.remove(table->store.arg, &page->key);
	if (ret && (page->used || ret != -ENOENT))
		return ret;
	page->exists = page->used;
	page->changed = false;
	for (int set = 0; set < RL_SETS_MAX; set++) {
		table->sets[set].members[page->ipv6] += page->members[set];
		table->sets[set].expired += page->expired[set];
	}
	memset(page->members, 0, sizeof(page->members));
	memset(page->expired, 0, sizeof(page->expired));
	return 0;
}
