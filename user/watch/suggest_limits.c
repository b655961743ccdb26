// SPDX-License-Identifier: GPL-2.0-only
/* Which services there are, and whose each cell is. */
#include "watch/suggest_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/suggest_flood.h"

#define BUSY_PACKETS   10 /* of a source */
#define BUSY_SOURCES   2  /* a UDP port above those that clients use has them, if it is a service */
#define CLIENT_PORTS   32768 /* Linux gives them to sockets that ask for none */
#define SYSTEM_PORTS   1024
#define BLOCKS_LEAST   3  /* with packets, of a service that was watched for long enough, */
#define BLOCKS_PART    20 /* and of all blocks */
#define SERVICES_MAX   (2 * SEEN_PORTS + 256)
#define PROTOCOL_SLOTS (2 * SEEN_PORTS)

/* One for each port and protocol. */
struct tally {
	uint32_t blocks, busy;
};

struct maker {
	struct seen *seen;
	const struct suggest_options *options;
	struct tally *tallies;
	uint32_t *sources; /* of each series */
	struct class_cell *cells;
	bool *struck; /* for each cell of `seen`: left out */
	struct suggestion *out;
};

static uint32_t service_index(enum seen_kind kind, uint16_t number)
{
	return kind == SEEN_TCP   ? number
	       : kind == SEEN_UDP ? SEEN_PORTS + number
				  : PROTOCOL_SLOTS + number;
}

static bool is_service_kind(enum seen_kind kind)
{
	return kind <= SEEN_PROTO;
}

/* ---- what is known of each service */

static int blocks_tally(struct maker *maker)
{
	const struct seen *seen = maker->seen;
	uint64_t *pairs = malloc((seen->cell_count + 1) * sizeof(*pairs));
	size_t count = 0;

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < seen->cell_count; i++) {
		const struct seen_key *key = seen_key_of(seen, seen->cells[i].series);

		if (is_service_kind(key->kind))
			pairs[count++] = (uint64_t)service_index(key->kind, key->number) << 32 |
					 seen->cells[i].second / SUGGEST_BLOCK;
	}
	values_sort(pairs, count);
	for (size_t i = 0; i < count; i++)
		if (!i || pairs[i] != pairs[i - 1])
			maker->tallies[pairs[i] >> 32].blocks++;
	free(pairs);
	return 0;
}

/* Sources with some packets; the cells are ordered by series. */
static void busy_tally(struct maker *maker)
{
	const struct seen *seen = maker->seen;
	uint64_t packets = 0;

	for (size_t i = 0; i < seen->cell_count; i++) {
		const struct seen_cell *cell = &seen->cells[i];
		const struct seen_key *key = seen_key_of(seen, cell->series);
		bool last = i + 1 == seen->cell_count || cell[1].series != cell->series;

		packets += cell->packets;
		if (!last)
			continue;
		if (is_service_kind(key->kind) && packets >= BUSY_PACKETS)
			maker->tallies[service_index(key->kind, key->number)].busy++;
		packets = 0;
	}
}

/* Does the machine serve there, or is it answered there? */
static bool is_served(const struct maker *maker, enum seen_kind kind, uint16_t number)
{
	const struct seen_service *service = seen_service_of(maker->seen, kind, number);

	if (kind == SEEN_PROTO)
		return true;
	if (kind == SEEN_TCP)
		return service->asked || number < SYSTEM_PORTS;
	return number < CLIENT_PORTS ||
	       maker->tallies[service_index(kind, number)].busy >= BUSY_SOURCES;
}

static bool is_seen_enough(const struct maker *maker, enum seen_kind kind, uint16_t number)
{
	uint32_t all = maker->options->seconds / SUGGEST_BLOCK, least = all / BLOCKS_PART;

	least = least < BLOCKS_LEAST ? BLOCKS_LEAST : least;
	if (all < 2 * BLOCKS_LEAST)
		least = 1;
	return seen_service_of(maker->seen, kind, number)->packets >= SUGGEST_FEW_PACKETS &&
	       maker->tallies[service_index(kind, number)].blocks >= least;
}

/* ---- the services with limits of their own */

static const struct {
	enum suggest_kind kind;
	uint32_t numbers, most;
} kinds[] = {
	[SEEN_TCP] = {SUGGEST_TCP, SEEN_PORTS, SUGGEST_PORTS},
	[SEEN_UDP] = {SUGGEST_UDP, SEEN_PORTS, SUGGEST_PORTS},
	[SEEN_PROTO] = {SUGGEST_PROTO, 256, SUGGEST_PROTOCOLS},
};

/* In a list of at most `most`, by packets. */
static void few_add(struct suggestion *out, enum suggest_kind kind, uint16_t number,
		    uint64_t packets)
{
	size_t kept = out->few_count < SUGGEST_FEW_LISTED ? out->few_count : SUGGEST_FEW_LISTED - 1;
	size_t at = kept;

	out->few_count++;
	if (out->few_count > SUGGEST_FEW_LISTED && out->few[kept].packets >= packets)
		return;
	for (; at && out->few[at - 1].packets < packets; at--)
		out->few[at] = out->few[at - 1];
	out->few[at] = (struct suggest_few){kind, number, packets};
}

static bool is_chosen(const struct suggestion *out, enum suggest_kind kind, uint16_t number)
{
	for (size_t i = 0; i < out->count; i++)
		if (out->classes[i].kind == kind && out->classes[i].number == number)
			return true;
	return false;
}

/* The port or protocol with most packets of those that remain. */
static int next_choose(const struct maker *maker, enum seen_kind kind)
{
	uint64_t most = 0;
	int best = -1;

	for (uint32_t n = 0; n < kinds[kind].numbers; n++) {
		uint64_t packets = seen_service_of(maker->seen, kind, n)->packets;

		if (packets > most && is_seen_enough(maker, kind, n) && is_served(maker, kind, n) &&
		    !is_chosen(maker->out, kinds[kind].kind, n)) {
			most = packets;
			best = (int)n;
		}
	}
	return best;
}

static int class_compare(const void *a, const void *b)
{
	const struct suggest_class *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void class_add(struct suggestion *out, enum suggest_kind kind, int number)
{
	out->classes[out->count++] =
		(struct suggest_class){.kind = kind, .number = (uint16_t)number};
}

static void services_choose(struct maker *maker)
{
	struct suggestion *out = maker->out;

	for (int kind = SEEN_TCP; kind <= SEEN_PROTO; kind++) {
		int number;

		for (uint32_t i = 0; i < kinds[kind].most; i++) {
			number = next_choose(maker, kind);
			if (number < 0)
				break;
			class_add(out, kinds[kind].kind, number);
		}
		for (uint32_t n = 0; n < kinds[kind].numbers; n++) {
			uint64_t packets = seen_service_of(maker->seen, kind, n)->packets;

			if (packets && is_served(maker, kind, n) &&
			    !is_chosen(out, kinds[kind].kind, n))
				few_add(out, kinds[kind].kind, n, packets);
		}
	}
	qsort(out->classes, out->count, sizeof(*out->classes), class_compare);
	for (int kind = SUGGEST_REST_TCP; kind <= SUGGEST_ALL; kind++)
		class_add(out, kind, 0);
}

/* ---- the cells of a class */

static bool class_has(const struct suggestion *out, const struct suggest_class *class,
		      const struct seen_key *key)
{
	switch (class->kind) {
	case SUGGEST_TCP:
		return key->kind == SEEN_TCP && key->number == class->number;
	case SUGGEST_UDP:
		return key->kind == SEEN_UDP && key->number == class->number;
	case SUGGEST_PROTO:
		return key->kind == SEEN_PROTO && key->number == class->number;
	case SUGGEST_REST_TCP:
		return key->kind == SEEN_TCP && !is_chosen(out, SUGGEST_TCP, key->number);
	case SUGGEST_REST_UDP:
		return key->kind == SEEN_UDP && !is_chosen(out, SUGGEST_UDP, key->number);
	case SUGGEST_FRAGMENT:
		return key->kind == SEEN_LATER || key->kind == SEEN_FIRST;
	case SUGGEST_ALL:
		return key->kind != SEEN_FIRST;
	}
	return false;
}

static int cell_compare(const void *a, const void *b)
{
	const struct class_cell *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

/* Counts of the same second in several series of a source become one cell. */
static size_t cells_merge(struct class_cell *cells, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(cells, count, sizeof(*cells), cell_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || cell_compare(&cells[kept - 1], &cells[i])) {
			cells[kept++] = cells[i];
			continue;
		}
		cells[kept - 1].packets += cells[i].packets;
		cells[kept - 1].bytes += cells[i].bytes;
		cells[kept - 1].samples += cells[i].samples;
	}
	return kept;
}

static size_t cells_gather(struct maker *maker, const struct suggest_class *class)
{
	const struct seen *seen = maker->seen;
	uint32_t series = UINT32_MAX;
	size_t count = 0;
	bool has = false;

	for (size_t i = 0; i < seen->cell_count; i++) {
		const struct seen_cell *cell = &seen->cells[i];

		if (cell->series != series)
			has = class_has(maker->out, class, seen_key_of(seen, cell->series));
		series = cell->series;
		if (has && !maker->struck[i])
			maker->cells[count++] = (struct class_cell){
				.source = maker->sources[series],
				.second = cell->second,
				.samples = cell->samples,
				.packets = cell->packets,
				.bytes = cell->bytes,
			};
	}
	return cells_merge(maker->cells, count);
}

static const struct class_cell *cell_find(const struct maker *maker, size_t count, uint32_t source,
					  uint32_t second)
{
	struct class_cell key = {.source = source, .second = second};

	return bsearch(&key, maker->cells, count, sizeof(key), cell_compare);
}

/* All packets together are judged last, without what their services have left out. */
static void cells_strike(struct maker *maker, const struct suggest_class *class, size_t count)
{
	const struct seen *seen = maker->seen;

	if (!class->left_out.packets)
		return;
	for (size_t i = 0; i < seen->cell_count; i++) {
		const struct seen_cell *cell = &seen->cells[i];
		const struct class_cell *judged;

		if (!class_has(maker->out, class, seen_key_of(seen, cell->series)))
			continue;
		judged = cell_find(maker, count, maker->sources[cell->series], cell->second);
		if (judged && !judged->packets)
			maker->struck[i] = true;
	}
}

static uint64_t forgotten_of(const struct maker *maker, const struct suggest_class *class)
{
	uint64_t sum = 0;

	for (int kind = SEEN_TCP; kind <= SEEN_PROTO; kind++)
		for (uint32_t n = 0; n < kinds[kind].numbers; n++) {
			struct seen_key key = {.kind = kind, .number = n};

			if (class_has(maker->out, class, &key))
				sum += seen_service_of(maker->seen, kind, n)->forgotten;
		}
	return sum;
}

/* ---- sources */

static int by_address(const void *a, const void *b, void *arg)
{
	const struct seen *seen = arg;

	return memcmp(seen_key_of(seen, *(const uint32_t *)a)->source,
		      seen_key_of(seen, *(const uint32_t *)b)->source, 16);
}

/* Each source's number is the first of its series. */
static int sources_number(struct maker *maker)
{
	struct seen *seen = maker->seen;
	uint32_t *order = malloc((seen->series_alive + 1) * sizeof(*order));
	size_t count = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < SEEN_SERIES_MAX; i++)
		if (seen->series[i])
			order[count++] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_address, seen);
	for (size_t i = 0; i < count; i++) {
		bool same = i && !by_address(&order[i - 1], &order[i], seen);

		maker->sources[order[i]] = same ? maker->sources[order[i - 1]] : order[i];
	}
	for (size_t i = 0; i < count; i++)
		if (seen_key_of(seen, order[i])->is_sum)
			maker->sources[order[i]] = SOURCE_FORGOTTEN;
	free(order);
	return 0;
}

/* ---- */

static double mean_weight(const struct seen *seen)
{
	return seen->all.samples ? (double)seen->packets / (double)seen->all.samples : 1;
}

static int whole_judge(struct maker *maker, struct class_whole *out)
{
	const struct suggest_class all = {.kind = SUGGEST_ALL};
	struct class_input input = {.cells = maker->cells, .count = cells_gather(maker, &all)};

	return whole_make(&input, out);
}

static int classes_judge(struct maker *maker)
{
	struct suggestion *out = maker->out;
	struct class_whole whole;
	int ret = whole_judge(maker, &whole);

	for (size_t i = 0; i < out->count && !ret; i++) {
		struct suggest_class *class = &out->classes[i];
		struct class_input input = {
			.cells = maker->cells,
			.count = cells_gather(maker, class),
			.forgotten = forgotten_of(maker, class),
			.headroom = maker->options->headroom,
			.seconds = maker->options->seconds,
			.weight = mean_weight(maker->seen),
			.whole = &whole,
		};

		ret = class_judge(&input, class);
		cells_strike(maker, class, input.count);
		if (!ret && class->left_out.sources)
			memcpy(class->left_out.heaviest,
			       seen_key_of(maker->seen, input.heaviest)->source,
			       sizeof(class->left_out.heaviest));
	}
	return ret;
}

static unsigned int confidence_least(const struct suggestion *out)
{
	unsigned int least = 1000;

	for (size_t i = 0; i < out->count; i++) {
		const struct suggest_class *class = &out->classes[i];

		if ((class->kind <= SUGGEST_PROTO || class->kind == SUGGEST_ALL) &&
		    class->confidence < least)
			least = class->confidence;
	}
	return least;
}

int suggest_make(struct seen *seen, const struct suggest_options *options, struct suggestion *out)
{
	struct maker maker = {.seen = seen, .options = options, .out = out};
	int ret = seen_settle(seen);

	memset(out, 0, sizeof(*out));
	maker.tallies = calloc(SERVICES_MAX, sizeof(*maker.tallies));
	maker.sources = calloc(SEEN_SERIES_MAX, sizeof(*maker.sources));
	maker.cells = malloc((seen->cell_count + 1) * sizeof(*maker.cells));
	maker.struck = calloc(seen->cell_count + 1, sizeof(*maker.struck));
	if (!maker.tallies || !maker.sources || !maker.cells || !maker.struck)
		ret = -ENOMEM;
	ret = ret ? ret : sources_number(&maker);
	ret = ret ? ret : blocks_tally(&maker);
	if (!ret) {
		busy_tally(&maker);
		services_choose(&maker);
		ret = classes_judge(&maker);
		out->confidence = confidence_least(out);
	}
	free(maker.tallies);
	free(maker.sources);
	free(maker.cells);
	free(maker.struck);
	return ret;
}
