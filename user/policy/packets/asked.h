/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that a question about rules is about. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Packets between two addresses (mapped), without fragments. */
struct flow {
	uint8_t src[16], dst[16];
	bool dst_known;
	uint8_t proto;         /* 0: TCP; others come from a tunnel's other end, whatever it does */
	bool answers;          /* of the connection's server: SYNs come with ACK */
	uint16_t sport, dport; /* 0: unknown */
};

struct set_members;
struct alarm_states;

/* The packets to decide on: those of one lookup address. */
struct asked {
	uint8_t addr[16]; /* mapped */
	bool by_dest;
	const struct flow *flow; /* only these packets; NULL: all packets of the address */
	const struct set_members *members; /* NULL: nothing is known of any set */
	const struct alarm_states *alarms; /* NULL: nor of any alarm */
};
