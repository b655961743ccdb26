// SPDX-License-Identifier: GPL-2.0-only
#include "member_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TORN 1348 /* bytes of a page that are written before someone looks; within a line */

static union rl_member_page **page_at(const struct memory_store *store,
				      const struct rl_member_key *key)
{
	return key->page < STORE_PAGES ? &store->pages[key->family == 6][key->page] : NULL;
}

static void look(struct memory_store *store)
{
	if (store->hook)
		store->hook(store->hook_arg);
}

static int fails(struct memory_store *store)
{
	store->writes++;
	if (!store->fail_at || store->writes < store->fail_at)
		return 0;
	if (store->writes == store->fail_at && store->on_failure)
		store->on_failure(store->hook_arg);
	return store->writes == store->fail_at || store->dies ? store->error : 0;
}

static union rl_member_page *memory_take(struct memory_store *store)
{
	return store->free_count ? store->free[--store->free_count]
				 : calloc(1, sizeof(union rl_member_page));
}

static void memory_give(struct memory_store *store, union rl_member_page *page)
{
	if (store->free_count == store->free_capacity) {
		store->free_capacity = 2 * store->free_capacity + 64;
		store->free = reallocarray(store->free, store->free_capacity,
					   sizeof(union rl_member_page *));
		if (!store->free)
			abort();
	}
	store->free[store->free_count++] = page;
}

static int store_read(void *arg, const struct rl_member_key *key, union rl_member_page *page)
{
	struct memory_store *store = arg;
	union rl_member_page **at = page_at(store, key);

	store->reads++;
	if (!at || !*at)
		return -ENOENT;
	memcpy(page, *at, sizeof(*page));
	return 0;
}

static int store_write(void *arg, const struct rl_member_key *key, const union rl_member_page *page)
{
	struct memory_store *store = arg;
	union rl_member_page **at = page_at(store, key), *next, *former;
	int ret = fails(store);

	if (ret || !at)
		return ret ? ret : -E2BIG;
	look(store);
	next = memory_take(store);
	memcpy(next, page, TORN);
	look(store);
	memcpy((char *)next + TORN, (const char *)page + TORN, sizeof(*page) - TORN);
	former = *at;
	*at = next;
	if (former)
		memory_give(store, former);
	else if (++store->count > store->most)
		store->most = store->count;
	look(store);
	return 0;
}

static int store_remove(void *arg, const struct rl_member_key *key)
{
	struct memory_store *store = arg;
	union rl_member_page **at = page_at(store, key);
	int ret = fails(store);

	if (ret || !at || !*at)
		return ret ? ret : -ENOENT;
	look(store);
	memory_give(store, *at);
	*at = NULL;
	store->count--;
	look(store);
	return 0;
}

void memory_store_make(struct memory_store *store, struct page_store *out)
{
	*store = (struct memory_store){0};
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		store->pages[ipv6] = calloc(STORE_PAGES, sizeof(union rl_member_page *));
		if (!store->pages[ipv6])
			abort();
	}
	*out = (struct page_store){
		.read = store_read, .write = store_write, .remove = store_remove, .arg = store};
}

void memory_store_clear(struct memory_store *store)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		for (size_t i = 0; i < STORE_PAGES; i++)
			free(store->pages[ipv6][i]);
		free(store->pages[ipv6]);
	}
	for (size_t i = 0; i < store->free_count; i++)
		free(store->free[i]);
	free(store->free);
	*store = (struct memory_store){0};
}

const union rl_member_page *memory_store_page(const struct memory_store *store, bool ipv6,
					      uint32_t number)
{
	return number < STORE_PAGES ? store->pages[ipv6][number] : NULL;
}
