/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets of each source to each service, second by second. Pure, in bounded memory: at most
 * SEEN_SERIES_MAX series and SEEN_CELLS_MAX cells, about 130 MB, and much less for most traffic.
 *
 * When there are too many series, those that sent only a few packets in one second are forgotten,
 * as forged sources are; if that is not enough, every second source, by a hash of its address. What
 * they sent stays in the sums of their service.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/estimate.h"

#define SEEN_SERIES_MAX (1u << 17)
#define SEEN_CELLS_MAX  (1u << 22)
#define SEEN_PORTS      65536u

/* Services are told apart by it. A packet belongs to one of them; a first fragment also to
 * SEEN_FIRST. */
enum seen_kind {
	SEEN_TCP,   /* by port */
	SEEN_UDP,   /* by port */
	SEEN_PROTO, /* others, by their number */
	SEEN_LATER, /* fragments without ports */
	SEEN_FIRST, /* fragments with them */
	SEEN_KINDS
};

/* A source, IPv4 by address and IPv6 by /64, at a service. */
struct seen_key {
	uint8_t source[16];
	uint16_t number; /* of the port or the protocol; host order */
	uint8_t kind;    /* enum seen_kind */
	uint8_t is_sum;  /* of forgotten sources, whose address is 0 */
};

struct seen_cell {
	uint32_t series; /* index */
	uint32_t second; /* since the first packet */
	uint32_t packets, samples;
	uint64_t bytes;
};

struct seen_packet {
	uint64_t time_ns; /* of any clock that is the same for all */
	uint8_t source[16], proto;
	uint16_t port; /* of the destination */
	bool has_ports, fragment, later;
	bool asks;       /* a TCP segment with SYN and without ACK */
	uint32_t bytes;  /* of one */
	uint64_t weight; /* packets that it stands for */
};

/* A port's or protocol's. */
struct seen_service {
	uint64_t packets, asked; /* asked: those with `asks` */
	uint64_t forgotten;      /* sources without a series, counted again if they came back */
};

struct seen {
	uint64_t begin_ns; /* of second 0; valid with packets */
	uint64_t packets, bytes, forgotten;
	uint32_t last; /* the last second */
	struct estimate all;
	unsigned int halvings; /* one source in 2^halvings is kept */
	struct seen_service *services[SEEN_KINDS];
	struct series *table;
	struct series **series; /* by index; NULL: forgotten */
	struct seen_cell *cells;
	size_t series_count, series_alive, cell_count, cell_room;
};

/* 0 or -ENOMEM. */
int seen_init(struct seen *seen);
void seen_clear(struct seen *seen);

/* 0, -ENOMEM, or -E2BIG: the time is too long for the bound. A packet before the first is of second
 * 0. */
int seen_add(struct seen *seen, const struct seen_packet *packet);

/* Orders the cells by series and second, no two of the same: from now on they can be read. More
 * packets may be added. 0 or -ENOMEM. */
int seen_settle(struct seen *seen);

const struct seen_key *seen_key_of(const struct seen *seen, uint32_t series);
struct seen_service *seen_service_of(const struct seen *seen, enum seen_kind kind, uint16_t number);
