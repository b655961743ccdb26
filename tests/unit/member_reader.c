// SPDX-License-Identifier: GPL-2.0-only
#include "member_reader.h"

#include <string.h>

#include "algorithm/member_hash.h"
#include "base/units.h"
#include "compile/member_parts.h"

void reader_begin(struct reader *reader, const struct member_table *table,
		  const struct memory_store *store, const uint8_t addr[16])
{
	*reader = (struct reader){.store = store,
				  .layout = table->layout,
				  .seed = table->seed,
				  .now = table->now,
				  .ipv6 = !prefix_is_ipv4(addr, 128)};
	memcpy(reader->addr, addr, sizeof(reader->addr));
}

static void again(struct reader *reader)
{
	reader->retries++;
	reader->step = READER_CHANGES;
}

static void changes_step(struct reader *reader)
{
	reader->changes = reader->layout->changes;
	reader->sets = 0;
	memset(reader->longest, -1, sizeof(reader->longest));
	reader->len = reader->ipv6 ? 128 : 32;
}

/* The address without its host bits, as words of the packet. */
static void mask(struct reader *reader)
{
	uint8_t bytes[16];
	uint32_t word;

	prefix_mask(bytes, reader->addr, reader->len + (reader->ipv6 ? 0 : RL_MAPPED_BITS));
	memcpy(reader->masked, bytes, sizeof(reader->masked));
	if (reader->ipv6)
		return;
	memcpy(&word, bytes + 12, sizeof(word));
	reader->masked[0] = word;
	reader->masked[1] = 0;
}

static void length_step(struct reader *reader)
{
	uint64_t hash;

	for (; reader->len >= 0; reader->len--) {
		mask(reader);
		if (guide_has(reader->layout, reader->seed, reader->ipv6, reader->masked,
			      reader->len))
			break;
	}
	if (reader->len < 0 || !reader->pages) {
		reader->step = READER_END;
		return;
	}
	hash = reader->ipv6 ? member_hash6(reader->seed, reader->masked, reader->len)
			    : member_hash4(reader->seed, reader->masked[0], reader->len);
	reader->number = member_page(hash, reader->pages);
	reader->line = member_line(hash, reader->ipv6 ? RL_MEMBER_LINES6 : RL_MEMBER_LINES4);
	reader->page = memory_store_page(reader->store, reader->ipv6, reader->number);
	reader->probes = 0;
	if (reader->page)
		reader->step = READER_LINE;
	else
		reader->len--;
}

static void slot_judge(struct reader *reader, uint16_t meta, uint32_t expires)
{
	uint32_t set = meta & RL_MEMBER_SET;

	if (meta >> RL_MEMBER_LEN_SHIFT != reader->len || !(meta & RL_MEMBER_USED) ||
	    !(meta & RL_MEMBER_EPOCH) != !(reader->epochs >> set & 1) ||
	    member_expired(expires, reader->now))
		return;
	reader->sets |= 1ull << set;
	if (reader->longest[set] < reader->len)
		reader->longest[set] = reader->len;
}

static void line4_step(struct reader *reader, const struct rl_member_line4 *line)
{
	for (int way = 0; way < RL_MEMBER_WAYS4; way++)
		if (line->addr[way] == (uint32_t)reader->masked[0])
			slot_judge(reader, line->meta[way], line->expires[way]);
}

static void line6_step(struct reader *reader, const struct rl_member_line6 *line)
{
	for (int way = 0; way < RL_MEMBER_WAYS6; way++)
		if (line->addr[way][0] == reader->masked[0] &&
		    line->addr[way][1] == reader->masked[1])
			slot_judge(reader, line->meta[way], line->expires[way]);
}

static void line_step(struct reader *reader)
{
	uint32_t lines = reader->ipv6 ? RL_MEMBER_LINES6 : RL_MEMBER_LINES4;
	uint32_t word = reader->ipv6 ? reader->page->line6[reader->line].page
				     : reader->page->line4[reader->line].page;

	if (word >> 1 != reader->number) {
		again(reader);
		return;
	}
	if (reader->ipv6)
		line6_step(reader, &reader->page->line6[reader->line]);
	else
		line4_step(reader, &reader->page->line4[reader->line]);
	reader->line = reader->line + 1 == lines ? 0 : reader->line + 1;
	if (word & RL_MEMBER_FULL && ++reader->probes < RL_MEMBER_PROBES)
		return;
	reader->len--;
	reader->step = READER_LENGTH;
}

bool reader_go(struct reader *reader)
{
	switch (reader->step) {
	case READER_CHANGES:
		changes_step(reader);
		reader->step = READER_EPOCHS;
		break;
	case READER_EPOCHS:
		reader->epochs = reader->layout->epochs;
		reader->step = READER_PAGES;
		break;
	case READER_PAGES:
		reader->pages = reader->ipv6 ? reader->layout->pages6 : reader->layout->pages4;
		reader->step = READER_LENGTH;
		break;
	case READER_LENGTH:
		length_step(reader);
		break;
	case READER_LINE:
		line_step(reader);
		break;
	case READER_END:
		reader->step = READER_DONE;
		if (reader->changes != reader->layout->changes)
			again(reader);
		break;
	case READER_DONE:
		break;
	}
	return reader->step != READER_DONE;
}
