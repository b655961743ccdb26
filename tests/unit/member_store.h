/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of members in memory, as the kernel has them: a page is replaced at once, the memory of the
 * former one is used again by the next that is written, and whoever reads there sees it change.
 */
#pragma once

#include "compile/member_table.h"

#define STORE_PAGES (1 << 17)

struct memory_store {
	union rl_member_page **pages[2]; /* STORE_PAGES each; NULL: there is none */
	union rl_member_page **free;
	size_t count, free_count, free_capacity;
	size_t reads, writes; /* that were asked for; a removal is a write */
	size_t most;          /* of `count`, so far */
	/* Errors: the write of that number, from 1, fails, and if `dies` all after it. */
	size_t fail_at;
	int error;
	bool dies;
	void (*on_failure)(void *arg); /* called when the first one fails */
	/* Called before and after each write, and in the middle of it. */
	void (*hook)(void *arg);
	void *hook_arg;
};

void memory_store_make(struct memory_store *store, struct page_store *out);
void memory_store_clear(struct memory_store *store);

/* The page, or NULL. It changes, or becomes another one, while the writer goes on. */
const union rl_member_page *memory_store_page(const struct memory_store *store, bool ipv6,
					      uint32_t number);
