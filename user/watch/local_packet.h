/* SPDX-License-Identifier: GPL-2.0-only */
/* A captured packet, as far as sockets look at it. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/captured.h"

/* Flags of a TCP segment, as in its header. */
enum tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

/* How a packet belongs to a conversation. */
enum local_kind {
	LOCAL_NONE, /* not at all: another protocol, a later fragment, not IP, malformed */
	LOCAL_TCP,
	LOCAL_UDP,
	LOCAL_ECHO_REQUEST,
	LOCAL_ECHO_REPLY,
};

struct local_packet {
	uint64_t time_ns;
	bool has_addresses;       /* false: not IP, or its header was not captured */
	uint8_t src[16], dst[16]; /* mapped */
	enum local_kind kind;
	bool malformed;
	bool has_ports;       /* of TCP, UDP or SCTP */
	bool fragment, later; /* any fragment; one without the transport header */
	uint8_t proto;
	uint16_t sport, dport; /* of an echo, both are its identifier */
	uint8_t flags;         /* enum tcp_flag */
	uint32_t seq, ack;     /* of TCP */
	uint32_t length;       /* of the TCP payload */
};

void local_packet_parse(const struct captured *captured, struct local_packet *out);
