/* SPDX-License-Identifier: GPL-2.0-only */
/* A line with an address, as in a list (member_file.h) and in what was saved (member_state.h). */
#pragma once

#include "policy/sets/member_list.h"

/* One line: ADDRESS[/LEN] or FIRST-LAST, and what may be after it; without its newline. `now_ns`:
 * CLOCK_REALTIME, for `until`. 1: it has a member (or one whose time is
 * over); 0: it is blank; -EINVAL: it is bad, which list->bad notes under this number; -ENOMEM. */
int member_line_parse(const char *line, size_t size, size_t number, uint64_t now_ns,
		      struct member_list *list);

/* "192.0.2.1", "192.0.2.0/24" or "192.0.2.1-192.0.2.9", as a member or several. NULL, or why not;
 * MEMBER_NO_MEMORY for want of memory. */
extern const char MEMBER_NO_MEMORY[];
const char *member_word_parse(const char *word, size_t size, uint64_t life_ns,
			      struct member_list *list);
