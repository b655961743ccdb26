// SPDX-License-Identifier: GPL-2.0-only
/* The current second of a series is in the table; the cells hold those before it, in any order, and
 * some of them twice, until they are settled. */
#include "watch/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"

#define FEW_PACKETS   3  /* of a source that may be forgotten, */
#define FORGET_AFTER  10 /* so many seconds later */
#define HALVINGS_MAX  16
#define PORTS_PART    1000 /* of the packets: a port with fewer shares the sum of forgotten ones */
#define CELLS_AT_ONCE 4096

struct series {
	struct seen_key key;
	uint32_t index;
	bool had_others; /* seconds before the current one */
	struct seen_cell now;
	UT_hash_handle hh;
};

static const uint32_t numbers[SEEN_KINDS] = {SEEN_PORTS, SEEN_PORTS, 256, 1, 1};

int seen_init(struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	seen->series = calloc(SEEN_SERIES_MAX, sizeof(struct series *));
	for (int i = 0; i < SEEN_KINDS; i++)
		seen->services[i] = calloc(numbers[i], sizeof(struct seen_service));
	for (int i = 0; i < SEEN_KINDS; i++)
		if (!seen->services[i] || !seen->series) {
			seen_clear(seen);
			return -ENOMEM;
		}
	return 0;
}

static void series_free(struct seen *seen, struct series *series)
{
	seen->series[series->index] = NULL;
	seen->series_alive--;
	hash_remove(seen->table, series);
	free(series);
}

void seen_clear(struct seen *seen)
{
	for (struct series *series = seen->table, *next; series; series = next) {
		next = series->hh.next;
		series_free(seen, series);
	}
	for (int i = 0; i < SEEN_KINDS; i++)
		free(seen->services[i]);
	free(seen->series);
	free(seen->cells);
	memset(seen, 0, sizeof(*seen));
}

const struct seen_key *seen_key_of(const struct seen *seen, uint32_t series)
{
	return &seen->series[series]->key;
}

struct seen_service *seen_service_of(const struct seen *seen, enum seen_kind kind, uint16_t number)
{
	return &seen->services[kind][number % numbers[kind]];
}

/* ---- cells */

static int cell_push(struct seen *seen, const struct seen_cell *cell)
{
	size_t room = seen->cell_room ? 2 * seen->cell_room : CELLS_AT_ONCE;
	struct seen_cell *cells;

	if (seen->cell_count == seen->cell_room) {
		cells = realloc(seen->cells, room * sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		seen->cells = cells;
		seen->cell_room = room;
	}
	seen->cells[seen->cell_count++] = *cell;
	return 0;
}

static int cell_compare(const void *a, const void *b)
{
	const struct seen_cell *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

static void cell_merge(struct seen_cell *to, const struct seen_cell *from)
{
	if (__builtin_add_overflow(to->packets, from->packets, &to->packets))
		to->packets = UINT32_MAX;
	to->samples += from->samples;
	to->bytes += from->bytes;
}

static void cells_merge(struct seen *seen)
{
	size_t kept = 0;

	if (seen->cell_count)
		qsort(seen->cells, seen->cell_count, sizeof(*seen->cells), cell_compare);
	for (size_t i = 0; i < seen->cell_count; i++) {
		if (kept && !cell_compare(&seen->cells[kept - 1], &seen->cells[i]))
			cell_merge(&seen->cells[kept - 1], &seen->cells[i]);
		else
			seen->cells[kept++] = seen->cells[i];
	}
	seen->cell_count = kept;
}

static int now_push(struct seen *seen, struct series *series)
{
	int ret = series->now.packets ? cell_push(seen, &series->now) : 0;

	series->now = (struct seen_cell){.series = series->index};
	series->had_others = true;
	return ret;
}

int seen_settle(struct seen *seen)
{
	int ret = 0;

	for (struct series *series = seen->table; series && !ret; series = series->hh.next)
		if (series->now.packets)
			ret = now_push(seen, series);
	cells_merge(seen);
	return ret;
}

/* ---- series */

static struct series *series_find(const struct seen *seen, const struct seen_key *key)
{
	struct series *found;

	HASH_FIND(hh, seen->table, key, sizeof(*key), found);
	return found;
}

/* The indices of forgotten ones are used again. */
static uint32_t index_free(struct seen *seen)
{
	while (seen->series_count < SEEN_SERIES_MAX && seen->series[seen->series_count])
		seen->series_count++;
	return (uint32_t)seen->series_count;
}

static struct series *series_new(struct seen *seen, const struct seen_key *key)
{
	uint32_t index = index_free(seen);
	struct series *series;

	if (index == SEEN_SERIES_MAX)
		return NULL;
	series = calloc(1, sizeof(*series));
	if (!series)
		return NULL;
	series->key = *key;
	series->index = series->now.series = index;
	HASH_ADD(hh, seen->table, key, sizeof(series->key), series);
	if (!series->hh.tbl) {
		free(series);
		return NULL;
	}
	seen->series[index] = series;
	seen->series_alive++;
	return series;
}

/* FNV-1a, folded: one bit for each halving. */
static bool source_is_kept(const struct seen *seen, const uint8_t source[16])
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < 16; i++)
		hash = (hash ^ source[i]) * 0x100000001b3;
	hash ^= hash >> 32;
	return !(hash & ((1ull << seen->halvings) - 1));
}

/* ---- forgetting */

/* The key under which what a forgotten source sent is added up. */
static struct seen_key sum_key(const struct seen *seen, const struct seen_key *of)
{
	const struct seen_service *service = seen_service_of(seen, of->kind, of->number);
	struct seen_key key = {.kind = of->kind, .is_sum = 1};

	if (service->packets >= seen->packets / PORTS_PART)
		key.number = of->number;
	return key;
}

static struct series *sum_of(struct seen *seen, const struct seen_key *key)
{
	struct seen_key sum = sum_key(seen, key);
	struct series *series = series_find(seen, &sum);

	return series ? series : series_new(seen, &sum);
}

static bool is_light(const struct seen *seen, const struct series *series)
{
	return !series->had_others && series->now.packets <= FEW_PACKETS &&
	       seen->last > series->now.second + FORGET_AFTER;
}

static bool is_dropped(const struct seen *seen, const struct series *series, bool halve)
{
	if (series->key.is_sum)
		return false;
	return is_light(seen, series) || (halve && !source_is_kept(seen, series->key.source));
}

/* Sums come first: they need indices of their own, which are then free for sure. `sums`: by the
 * index of the series, what its cells become. */
static int sums_find(struct seen *seen, uint32_t *sums, bool halve)
{
	for (uint32_t i = 0; i < SEEN_SERIES_MAX; i++)
		sums[i] = i;
	for (struct series *series = seen->table, *next; series; series = next) {
		struct series *sum;

		next = series->hh.next;
		if (!is_dropped(seen, series, halve))
			continue;
		sum = sum_of(seen, &series->key);
		if (!sum)
			return -ENOMEM;
		sums[series->index] = sum->index;
		seen_service_of(seen, series->key.kind, series->key.number)->forgotten++;
		seen->forgotten++;
	}
	return 0;
}

static int series_forget(struct seen *seen, bool halve)
{
	uint32_t *sums = malloc(SEEN_SERIES_MAX * sizeof(*sums));
	int ret = sums ? sums_find(seen, sums, halve) : -ENOMEM;

	for (struct series *series = seen->table, *next; series && !ret; series = next) {
		next = series->hh.next;
		if (sums[series->index] == series->index)
			continue;
		ret = now_push(seen, series);
		series_free(seen, series);
	}
	for (size_t i = 0; i < seen->cell_count && !ret; i++)
		seen->cells[i].series = sums[seen->cells[i].series];
	free(sums);
	seen->series_count = 0;
	cells_merge(seen);
	return ret;
}

static bool is_crowded(const struct seen *seen, unsigned int percent)
{
	return seen->series_alive >= SEEN_SERIES_MAX / 100 * percent ||
	       seen->cell_count >= SEEN_CELLS_MAX / 100 * percent;
}

static int room_make(struct seen *seen)
{
	int ret;

	if (!is_crowded(seen, 95))
		return 0;
	cells_merge(seen);
	ret = series_forget(seen, false);
	while (!ret && is_crowded(seen, 75)) {
		if (seen->halvings++ == HALVINGS_MAX)
			return -E2BIG;
		ret = series_forget(seen, true);
	}
	return ret;
}

/* ---- packets */

static void counts_add(struct seen *seen, const struct seen_key *key,
		       const struct seen_packet *packet)
{
	struct seen_service *service = seen_service_of(seen, key->kind, key->number);

	service->packets += packet->weight;
	service->asked += packet->asks ? packet->weight : 0;
}

static int key_add(struct seen *seen, const struct seen_key *key, const struct seen_packet *packet,
		   uint32_t second)
{
	struct series *series = series_find(seen, key);
	int ret = series ? 0 : room_make(seen);

	if (!series && !ret)
		series = source_is_kept(seen, key->source) ? series_new(seen, key)
							   : sum_of(seen, key);
	if (!series)
		return ret ? ret : -ENOMEM;
	if (series->now.packets && series->now.second != second) {
		ret = now_push(seen, series);
		ret = ret ? ret : room_make(seen);
		if (ret)
			return ret;
		series = series_find(seen, key); /* it may have been forgotten */
		if (!series)
			return key_add(seen, key, packet, second);
	}
	series->now.second = second;
	cell_merge(&series->now, &(struct seen_cell){.packets = (uint32_t)packet->weight,
						     .samples = 1,
						     .bytes = packet->weight * packet->bytes});
	return 0;
}

static uint32_t second_of(struct seen *seen, uint64_t time_ns)
{
	uint64_t since;

	if (!seen->packets)
		seen->begin_ns = time_ns;
	since = time_ns > seen->begin_ns ? (time_ns - seen->begin_ns) / NS_PER_SECOND : 0;
	return since < UINT32_MAX ? (uint32_t)since : UINT32_MAX - 1;
}

static enum seen_kind kind_of(const struct seen_packet *packet)
{
	if (packet->later)
		return SEEN_LATER;
	if (!packet->has_ports || (packet->proto != 6 && packet->proto != 17))
		return SEEN_PROTO;
	return packet->proto == 6 ? SEEN_TCP : SEEN_UDP;
}

int seen_add(struct seen *seen, const struct seen_packet *packet)
{
	uint32_t second = second_of(seen, packet->time_ns);
	enum seen_kind kind = kind_of(packet);
	struct seen_key key = {.kind = kind};
	int ret;

	seen->packets += packet->weight;
	seen->bytes += packet->weight * packet->bytes;
	seen->last = second > seen->last ? second : seen->last;
	estimate_add(&seen->all, packet->weight, 1);
	prefix_mask(key.source, packet->source, key_bits(packet->source, 32, 64));
	if (kind == SEEN_TCP || kind == SEEN_UDP)
		key.number = packet->port;
	else if (kind == SEEN_PROTO)
		key.number = packet->proto;
	counts_add(seen, &key, packet);
	ret = key_add(seen, &key, packet, second);
	if (ret || !packet->fragment || packet->later)
		return ret;
	key.kind = SEEN_FIRST;
	key.number = 0;
	counts_add(seen, &key, packet);
	return key_add(seen, &key, packet, second);
}
