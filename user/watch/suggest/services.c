// SPDX-License-Identifier: GPL-2.0-only
/* Which services there are, and what was sent to each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/suggest/suggest.h"

#define BUSY_PACKETS 10 /* of a source */
#define BUSY_SOURCES 2  /* a UDP port above those that clients use has them, if it is a service */
#define CLIENT_PORTS 32768 /* Linux gives them to sockets that ask for none */
#define SYSTEM_PORTS 1024
#define BLOCKS_LEAST 3  /* with packets, of a service that was watched for long enough, */
#define BLOCKS_PART  20 /* and of all blocks */
#define SERVICES_MAX (2 * SEEN_PORTS + 256)

struct maker {
	struct seen *seen;
	const struct suggest_options *options;
	struct suggestion *out;
	uint32_t *busy; /* sources with some packets, of each UDP port */
	struct suggest_few *candidates;
	struct suggest_input input; /* of the class that is judged */
};

/* ---- the services with limits of their own */

/* Does the machine serve there, or is it answered there? */
static bool is_served(const struct maker *maker, const struct suggest_few *candidate)
{
	uint16_t number = candidate->number;

	if (candidate->kind == SUGGEST_PROTO)
		return true;
	if (candidate->kind == SUGGEST_TCP)
		return number < SYSTEM_PORTS ||
		       seen_service_of(maker->seen, SEEN_TCP, number)->asked;
	return number < CLIENT_PORTS || maker->busy[number] >= BUSY_SOURCES;
}

static int class_compare(const void *a, const void *b)
{
	const struct suggest_class *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->number - y->number;
}

static int by_packets(const void *a, const void *b)
{
	const struct suggest_few *x = a, *y = b;

	if (x->packets != y->packets)
		return x->packets > y->packets ? -1 : 1;
	return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->number - y->number;
}

static size_t candidates_collect(struct maker *maker)
{
	size_t count = 0;

	for (uint32_t i = 0; i < SERVICES_MAX; i++) {
		enum suggest_kind kind = i / SEEN_PORTS;
		struct suggest_few candidate = {.kind = kind, .number = i % SEEN_PORTS};
		struct seen_service *service = seen_service_of(maker->seen, kind, candidate.number);

		service->chosen = false;
		candidate.packets = service->packets;
		if (service->packets && is_served(maker, &candidate))
			maker->candidates[count++] = candidate;
	}
	qsort(maker->candidates, count, sizeof(*maker->candidates), by_packets);
	return count;
}

static void services_choose(struct maker *maker)
{
	size_t room[] = {SUGGEST_PORTS, SUGGEST_PORTS, SUGGEST_PROTOCOLS};
	size_t count = candidates_collect(maker);
	uint32_t all = maker->options->seconds / SEEN_BLOCK, least = all / BLOCKS_PART;
	struct suggestion *out = maker->out;

	least = least < BLOCKS_LEAST ? BLOCKS_LEAST : least;
	if (all < 2 * BLOCKS_LEAST)
		least = 1;
	for (size_t i = 0; i < count; i++) {
		const struct suggest_few *candidate = &maker->candidates[i];
		struct seen_service *service =
			seen_service_of(maker->seen, candidate->kind, candidate->number);

		service->chosen = room[candidate->kind] &&
				  service->packets >= SUGGEST_FEW_PACKETS &&
				  service->blocks >= least;
		if (service->chosen) {
			room[candidate->kind]--;
			out->classes[out->count++] = (struct suggest_class){
				.kind = candidate->kind, .number = candidate->number};
			continue;
		}
		if (out->few_count < SUGGEST_FEW_LISTED)
			out->few[out->few_count] = *candidate;
		out->few_count++;
	}
	qsort(out->classes, out->count, sizeof(*out->classes), class_compare);
	for (int kind = SUGGEST_REST_TCP; kind <= SUGGEST_ALL; kind++)
		out->classes[out->count++] = (struct suggest_class){.kind = kind};
}

/* ---- the cells of a class */

static bool class_has(const struct maker *maker, const struct suggest_class *class,
		      enum seen_kind kind, uint16_t number)
{
	bool chosen = seen_service_of(maker->seen, kind, number)->chosen;

	switch (class->kind) {
	case SUGGEST_TCP:
	case SUGGEST_UDP:
	case SUGGEST_PROTO:
		return (int)kind == (int)class->kind && number == class->number;
	case SUGGEST_REST_TCP:
		return kind == SEEN_TCP && !chosen;
	case SUGGEST_REST_UDP:
		return kind == SEEN_UDP && !chosen;
	case SUGGEST_FRAGMENT:
		return kind == SEEN_LATER || kind == SEEN_FIRST;
	case SUGGEST_ALL:
		return kind != SEEN_FIRST;
	}
	return false;
}

/* As if all of the class were one service. */
static struct seen_cell cell_of_class(const struct seen_cell *cell)
{
	struct seen_cell of = *cell;

	of.kind = 0;
	of.number = 0;
	return of;
}

static void cells_gather(struct maker *maker, const struct suggest_class *class)
{
	struct suggest_input *input = &maker->input;
	const struct seen *seen = maker->seen;

	input->count = 0;
	for (size_t i = 0; i < seen->cell_count; i++) {
		const struct seen_cell *cell = &seen->cells[i];

		if (!cell->left_out && class_has(maker, class, cell->kind, cell->number))
			input->cells[input->count++] = cell_of_class(cell);
	}
	input->count = cells_merge(input->cells, input->count);
}

/* All packets together are judged last, without what their services have left out. */
static void cells_mark(struct maker *maker, const struct suggest_class *class)
{
	const struct suggest_input *input = &maker->input;
	struct seen *seen = maker->seen;

	for (size_t i = 0; i < seen->cell_count && class->left_out.packets; i++) {
		struct seen_cell *cell = &seen->cells[i], key = cell_of_class(cell);

		if (class_has(maker, class, cell->kind, cell->number))
			cell->left_out = !bsearch(&key, input->cells, input->count, sizeof(key),
						  cell_compare);
	}
}

static void classes_judge(struct maker *maker)
{
	const struct suggest_class all = {.kind = SUGGEST_ALL};
	struct suggest_input *input = &maker->input;

	cells_gather(maker, &all);
	borders_make(input);
	for (size_t i = 0; i < maker->out->count; i++) {
		struct suggest_class *class = &maker->out->classes[i];

		cells_gather(maker, class);
		input->forgotten = 0;
		for (uint32_t n = 0; n < SERVICES_MAX; n++)
			if (class_has(maker, class, n / SEEN_PORTS, n % SEEN_PORTS))
				input->forgotten +=
					seen_service_of(maker->seen, n / SEEN_PORTS, n % SEEN_PORTS)
						->forgotten;
		class_judge(input, class);
		cells_mark(maker, class);
	}
	flood_find(input, &maker->out->flood); /* the last class is that of all */
}

int suggest_make(struct seen *seen, const struct suggest_options *options, struct suggestion *out)
{
	struct maker maker = {.seen = seen, .options = options, .out = out};
	struct suggest_input *input = &maker.input;
	int ret = -ENOMEM;

	seen_settle(seen);
	for (size_t i = 0; i < seen->cell_count; i++)
		seen->cells[i].left_out = false;
	memset(out, 0, sizeof(*out));
	input->options = *options;
	input->weight = seen->all.samples ? (double)seen->packets / (double)seen->all.samples : 1;
	input->cells = calloc(seen->cell_count + 1, sizeof(*input->cells));
	input->sums = calloc(seen->cell_count + 1, sizeof(*input->sums));
	input->values = calloc(seen->cell_count + 1, sizeof(*input->values));
	maker.busy = calloc(SEEN_PORTS, sizeof(*maker.busy));
	maker.candidates = calloc(SERVICES_MAX, sizeof(*maker.candidates));
	if (input->cells && input->sums && input->values && maker.busy && maker.candidates) {
		for (size_t i = 0, run; i < seen->cell_count; i += run) {
			const struct seen_cell *cells = &seen->cells[i];
			uint64_t packets = 0;

			run = cells_run(cells, seen->cell_count - i);
			for (size_t at = 0; at < run; at++)
				packets += cells[at].packets;
			if (cells->kind == SEEN_UDP && packets >= BUSY_PACKETS)
				maker.busy[cells->number]++;
		}
		services_choose(&maker);
		classes_judge(&maker);
		ret = 0;
	}
	free(input->cells);
	free(input->sums);
	free(input->values);
	free(maker.busy);
	free(maker.candidates);
	return ret;
}
