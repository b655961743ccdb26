// SPDX-License-Identifier: GPL-2.0-only
/* Every packet is a cell at first. When there is no room for more, those that are equal are added
 * up. */
#include "watch/suggest/seen.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define FEW_PACKETS    3  /* of a source that may be forgotten, */
#define FORGET_AFTER   10 /* so many seconds later */
#define HALVINGS_MAX   16
#define PORTS_PART     1000 /* of the packets: sums of a port with fewer are those of port 0 */
#define CELLS_AT_FIRST 65536

static const uint32_t first_service[SEEN_KINDS + 1] = {
	0,
	SEEN_PORTS,
	2 * SEEN_PORTS,
	2 * SEEN_PORTS + 256,
	2 * SEEN_PORTS + 257,
	2 * SEEN_PORTS + 258,
};

int seen_init(struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	seen->services = calloc(first_service[SEEN_KINDS], sizeof(*seen->services));
	return seen->services ? 0 : -ENOMEM;
}

void seen_clear(struct seen *seen)
{
	free(seen->services);
	free(seen->cells);
	memset(seen, 0, sizeof(*seen));
}

struct seen_service *seen_service_of(const struct seen *seen, int kind, uint16_t number)
{
	return &seen->services[first_service[kind] + number];
}

/* ---- cells */

static int series_compare(const struct seen_cell *a, const struct seen_cell *b)
{
	if (a->is_sum != b->is_sum)
		return a->is_sum - b->is_sum;
	if (a->ipv4 != b->ipv4)
		return a->ipv4 - b->ipv4;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->kind != b->kind ? a->kind - b->kind : a->number - b->number;
}

int cell_compare(const void *a, const void *b)
{
	const struct seen_cell *x = a, *y = b;
	int order = series_compare(x, y);

	return order ? order : (x->second > y->second) - (x->second < y->second);
}

void cell_address(const struct seen_cell *cell, uint8_t out[16])
{
	uint64_t network = htobe64(cell->source);
	uint32_t ipv4 = htonl((uint32_t)cell->source);

	memset(out, 0, 16);
	if (!cell->ipv4) {
		memcpy(out, &network, sizeof(network));
		return;
	}
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, &ipv4, sizeof(ipv4));
}

size_t cells_run(const struct seen_cell *cells, size_t count)
{
	size_t run = 0;

	while (run < count && !series_compare(cells, cells + run))
		run++;
	return run;
}

size_t cells_merge(struct seen_cell *cells, size_t count)
{
	size_t kept = 0, ordered = 1;

	/* Cells of one class come in order from those of all. */
	while (ordered < count && cell_compare(&cells[ordered - 1], &cells[ordered]) <= 0)
		ordered++;
	if (ordered < count)
		qsort(cells, count, sizeof(*cells), cell_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || cell_compare(&cells[kept - 1], &cells[i])) {
			cells[kept++] = cells[i];
			continue;
		}
		cells[kept - 1].packets += cells[i].packets;
		cells[kept - 1].bytes += cells[i].bytes;
	}
	return kept;
}

/* ---- forgetting */

/* light: also those with few packets, of long ago. A source is kept by the bits of its hash, one
 * for each halving. */
static void sources_forget(struct seen *seen, bool light)
{
	struct seen_cell *cells = seen->cells;
	size_t run;

	for (size_t i = 0; i < seen->cell_count && !cells[i].is_sum; i += run) {
		struct seen_service *service =
			seen_service_of(seen, cells[i].kind, cells[i].number);
		uint64_t hash = cells[i].source * 0x9e3779b97f4a7c15;
		bool few = cells[i].packets <= FEW_PACKETS &&
			   seen->last > cells[i].second + FORGET_AFTER;

		run = cells_run(cells + i, seen->cell_count - i);
		if (!(light && run == 1 && few) && !(hash >> 48 & ((1u << seen->halvings) - 1)))
			continue;
		service->forgotten++;
		seen->forgotten++;
		for (size_t n = i; n < i + run; n++) {
			cells[n].source = 0;
			cells[n].ipv4 = false;
			cells[n].is_sum = true;
			if (service->packets < seen->packets / PORTS_PART)
				cells[n].number = 0;
		}
	}
	seen->cell_count = cells_merge(cells, seen->cell_count);
}

static int room_make(struct seen *seen)
{
	size_t room = seen->cell_room ? 2 * seen->cell_room : CELLS_AT_FIRST;
	struct seen_cell *cells;

	seen->cell_count = cells_merge(seen->cells, seen->cell_count);
	if (seen->cell_room && seen->cell_count <= seen->cell_room / 2)
		return 0;
	if (room <= SEEN_CELLS_MAX) {
		cells = realloc(seen->cells, room * sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		seen->cells = cells;
		seen->cell_room = room;
		return 0;
	}
	sources_forget(seen, true);
	while (seen->cell_count > SEEN_CELLS_MAX / 4 * 3) {
		if (seen->halvings++ == HALVINGS_MAX)
			return -E2BIG;
		sources_forget(seen, false);
	}
	return 0;
}

void seen_settle(struct seen *seen)
{
	seen->cell_count = cells_merge(seen->cells, seen->cell_count);
	if (seen->halvings) /* packets of forgotten sources came since */
		sources_forget(seen, false);
}

/* ---- packets */

static int cell_add(struct seen *seen, const struct seen_cell *cell, bool asks)
{
	struct seen_service *service = seen_service_of(seen, cell->kind, cell->number);
	int ret = seen->cell_count == seen->cell_room ? room_make(seen) : 0;

	if (ret)
		return ret;
	seen->cells[seen->cell_count++] = *cell;
	service->packets += cell->packets;
	service->asked += asks ? cell->packets : 0;
	if (cell->second / SEEN_BLOCK >= service->next_block) {
		service->blocks++;
		service->next_block = cell->second / SEEN_BLOCK + 1;
	}
	return 0;
}

int seen_add(struct seen *seen, const struct seen_packet *packet)
{
	bool has_ports = packet->has_ports && (packet->proto == 6 || packet->proto == 17);
	struct seen_cell cell = {
		.ipv4 = prefix_is_ipv4(packet->source, 128),
		.kind = packet->later        ? SEEN_LATER
			: !has_ports         ? SEEN_PROTO
			: packet->proto == 6 ? SEEN_TCP
					     : SEEN_UDP,
		.number = packet->later ? 0
			  : has_ports   ? packet->port
					: packet->proto,
		.packets = packet->weight,
		.bytes = packet->weight * packet->bytes,
	};
	uint64_t network, since = 0;
	uint32_t ipv4;
	int ret;

	if (!seen->packets)
		seen->begin_ns = packet->time_ns;
	if (packet->time_ns > seen->begin_ns)
		since = (packet->time_ns - seen->begin_ns) / NS_PER_SECOND;
	cell.second = since < UINT32_MAX ? (uint32_t)since : UINT32_MAX - 1;
	memcpy(&network, packet->source, sizeof(network));
	memcpy(&ipv4, packet->source + 12, sizeof(ipv4));
	cell.source = cell.ipv4 ? ntohl(ipv4) : be64toh(network);
	seen->packets += cell.packets;
	seen->bytes += cell.bytes;
	seen->last = cell.second > seen->last ? cell.second : seen->last;
	estimate_add(&seen->all, packet->weight, 1);
	ret = cell_add(seen, &cell, packet->asks);
	if (ret || !packet->fragment || packet->later)
		return ret;
	cell.kind = SEEN_FIRST;
	cell.number = 0;
	return cell_add(seen, &cell, packet->asks);
}
