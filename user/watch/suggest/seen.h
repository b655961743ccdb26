/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets of each source to each service, second by second. Pure, in bounded memory: at most
 * SEEN_CELLS_MAX cells, 64 MB, and much less for most traffic.
 *
 * When there are too many, sources that sent only a few packets in one second are forgotten, as
 * forged ones are; if that is not enough, every second source, by a hash of its address. Their
 * packets stay in the sums of their service.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/traffic/estimate.h"

#define SEEN_CELLS_MAX (1u << 21)
#define SEEN_PORTS     65536u

/* A packet belongs to one kind; a first fragment also to SEEN_FIRST. */
enum seen_kind {
	SEEN_TCP,   /* by port */
	SEEN_UDP,   /* by port */
	SEEN_PROTO, /* others, by their number */
	SEEN_LATER, /* fragments without ports */
	SEEN_FIRST, /* fragments with them */
	SEEN_KINDS
};

/* Packets of a source to a service in a second. 32 bytes: qsort() sorts larger ones by pointers,
 * which takes longer. */
struct seen_cell {
	uint64_t source; /* the IPv4 address, or the /64 of IPv6, host order */
	uint32_t second; /* since the first packet */
	uint16_t number; /* of the port or the protocol; host order */
	uint8_t kind;    /* enum seen_kind */
	bool ipv4 : 1;
	bool is_sum : 1;   /* of forgotten sources; `source` is 0 */
	bool left_out : 1; /* as part of a flood */
	uint64_t packets, bytes;
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
	uint64_t forgotten;      /* sources, counted again if they came back */
	uint32_t blocks;         /* of SEEN_BLOCK seconds, with packets */
	uint32_t next_block;     /* after the last of them */
	bool chosen;             /* for limits of its own */
};
#define SEEN_BLOCK 10u

struct seen {
	uint64_t begin_ns; /* of second 0; valid with packets */
	uint64_t packets, bytes, forgotten;
	uint32_t last; /* the last second */
	struct estimate all;
	unsigned int halvings; /* one source in 2^halvings is kept */
	struct seen_service *services;
	struct seen_cell *cells;
	size_t cell_count, cell_room;
};

/* 0 or -ENOMEM. */
int seen_init(struct seen *seen);
void seen_clear(struct seen *seen);

/* 0, -ENOMEM, or -E2BIG: the time is too long for the bound. A packet before the first is of second
 * 0. */
int seen_add(struct seen *seen, const struct seen_packet *packet);

/* Orders the cells, no two of the same: from now on they can be read. More packets may be added. */
void seen_settle(struct seen *seen);

struct seen_service *seen_service_of(const struct seen *seen, int kind, uint16_t number);

/* Orders cells by source, service and second, those of forgotten sources last, and adds up those
 * that are equal in that. Returns how many there are then. */
size_t cells_merge(struct seen_cell *cells, size_t count);
int cell_compare(const void *a, const void *b);
/* The source's address, mapped. */
void cell_address(const struct seen_cell *cell, uint8_t out[16]);
/* How many of the cells are the first one's source and service. */
size_t cells_run(const struct seen_cell *cells, size_t count);
