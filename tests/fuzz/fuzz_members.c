// SPDX-License-Identifier: GPL-2.0-only
/* Files of addresses: whatever the text, members are canonical prefixes with a time that the table
 * takes, and what `set list` would print of them is read as the same members.
 */
#include "fuzz.h"

#include "base/units.h"
#include "policy/sets/member_file.h"
#include "policy/sets/member_line.h"

#define NOW      (1790000000ull * NS_PER_SECOND)
#define LIST_MAX 200

static void item_check(const struct member_item *item, FILE *again)
{
	char text[PREFIX_TEXT_MAX];
	uint8_t masked[16];

	require(item->member.len <= 128);
	prefix_mask(masked, item->member.addr, item->member.len);
	require(!memcmp(masked, item->member.addr, sizeof(masked)));
	require(item->life_ns <= RL_MEMBER_LIFE_MAX || item->life_ns == MEMBER_LIFE_NONE);
	member_print(text, &item->member);
	require(fuzz_is_plain(text));
	fprintf(again, "%s\n", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct member_list list = {.max = LIST_MAX}, second = {.max = LIST_MAX};
	char *text = (char *)fuzz_copy(data, size), *printed = NULL;
	const char *why = member_file_parse(text, size, "badguys", NOW, &list);
	size_t printed_size;
	FILE *again = open_memstream(&printed, &printed_size);

	require(again && why != MEMBER_NO_MEMORY);
	require(list.capacity <= 2 * LIST_MAX + MEMBER_LIST_SPARE);
	for (size_t i = 0; i < list.count; i++)
		item_check(&list.items[i], again);
	fclose(again);
	if (list.count) {
		require(!member_file_parse(printed, printed_size, "x", NOW, &second));
		require(second.count == list.count && !second.bad_count && !second.host_bits);
		for (size_t i = 0; i < list.count; i++)
			require(!memcmp(&second.items[i].member, &list.items[i].member,
					sizeof(list.items[i].member)));
	}
	member_list_unite(&list);
	member_list_clear(&list);
	member_list_clear(&second);
	free(printed);
	free(text);
	return 0;
}
