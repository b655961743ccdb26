// SPDX-License-Identifier: GPL-2.0-only
/* The heaviest sources. */
#include "watch/traffic/heavy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define LEN4 32
#define LEN6 64

static int weight_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Half of the sources, at least, have no weight left. */
static void heavy_forget(struct heavy *heavy)
{
	uint64_t weights[HEAVY_MAX] = {0}, median;
	size_t count = 0;

	for (const struct heavy_source *s = heavy->list; s && count < HEAVY_MAX; s = s->hh.next)
		weights[count++] = s->weight;
	qsort(weights, count, sizeof(weights[0]), weight_compare);
	median = weights[count / 2];
	for (struct heavy_source *source = heavy->list, *next; source; source = next) {
		next = source->hh.next;
		if (source->weight > median) {
			source->weight -= median;
		} else {
			hash_remove(heavy->list, source);
			free(source);
		}
	}
	heavy->missed += median;
}

int heavy_add(struct heavy *heavy, const uint8_t addr[16], unsigned int kind, uint32_t bytes,
	      uint64_t time_ns)
{
	const struct rl_amount packet = {.packets = 1, .bytes = bytes};
	struct heavy_source *source;
	uint8_t key[16];

	prefix_mask(key, addr, key_bits(addr, LEN4, LEN6));
	HASH_FIND(hh, heavy->list, key, sizeof(key), source);
	if (!source) {
		if (HASH_COUNT(heavy->list) >= HEAVY_MAX)
			heavy_forget(heavy);
		source = calloc(1, sizeof(*source));
		if (!source)
			return -ENOMEM;
		memcpy(source->addr, key, sizeof(source->addr));
		source->missed = heavy->missed;
		source->first_ns = time_ns;
		HASH_ADD(hh, heavy->list, addr, sizeof(source->addr), source);
		if (!source->hh.tbl) {
			free(source);
			return -ENOMEM;
		}
	}
	amount_add(&source->amount[kind], &packet);
	source->weight++;
	if (time_ns < source->first_ns)
		source->first_ns = time_ns;
	if (time_ns > source->last_ns)
		source->last_ns = time_ns;
	return 0;
}

struct rl_amount heavy_amount(const struct heavy_source *source, unsigned int kinds)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < HEAVY_KINDS; i++)
		if (kinds & 1U << i)
			amount_add(&sum, &source->amount[i]);
	return sum;
}

static uint64_t packets_of(const struct heavy_source *source, unsigned int kinds)
{
	return heavy_amount(source, kinds).packets;
}

/* More packets first; the address decides between equals, so that the order is always the same. */
static bool is_before(const struct heavy_source *a, const struct heavy_source *b,
		      unsigned int kinds)
{
	uint64_t x = packets_of(a, kinds), y = packets_of(b, kinds);

	return x != y ? x > y : memcmp(a->addr, b->addr, sizeof(a->addr)) < 0;
}

size_t heavy_top(const struct heavy *heavy, unsigned int kinds, uint64_t before_ns,
		 const struct heavy_source **out, size_t max)
{
	size_t count = 0;

	for (const struct heavy_source *s = heavy->list; s; s = s->hh.next) {
		size_t at = count;

		if (s->first_ns >= before_ns || !packets_of(s, kinds))
			continue;
		while (at && is_before(s, out[at - 1], kinds))
			at--;
		if (at >= max)
			continue;
		count += count < max;
		memmove(&out[at + 1], &out[at],
			(count - 1 - at) * sizeof(const struct heavy_source *));
		out[at] = s;
	}
	return count;
}

size_t heavy_singles(const struct heavy *heavy, unsigned int kinds, uint64_t before_ns,
		     struct heavy_source *sum)
{
	size_t count = 0;

	*sum = (struct heavy_source){.first_ns = UINT64_MAX};
	for (const struct heavy_source *s = heavy->list; s; s = s->hh.next) {
		if (s->first_ns >= before_ns || packets_of(s, kinds) != 1)
			continue;
		count++;
		for (int i = 0; i < HEAVY_KINDS; i++)
			amount_add(&sum->amount[i], &s->amount[i]);
		sum->missed = s->missed > sum->missed ? s->missed : sum->missed;
		sum->first_ns = s->first_ns < sum->first_ns ? s->first_ns : sum->first_ns;
		sum->last_ns = s->last_ns > sum->last_ns ? s->last_ns : sum->last_ns;
	}
	return count;
}

void heavy_clear(struct heavy *heavy)
{
	for (struct heavy_source *source = heavy->list, *next; source; source = next) {
		next = source->hh.next;
		hash_remove(heavy->list, source);
		free(source);
	}
	heavy->missed = 0;
}

void heavy_print(char *buf, size_t size, const struct heavy_source *source)
{
	prefix_print(buf, size, source->addr, key_bits(source->addr, LEN4, LEN6));
}
