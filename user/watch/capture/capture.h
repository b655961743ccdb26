/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures, read packet by packet through libpcap: pcap and pcapng. In packets of link types other
 * than Ethernet, an Ethernet header without addresses replaces the link header, and the length is
 * adjusted. All functions report errors, with the packet's number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/captured.h"

/* Most bytes of a packet, its Ethernet header included. */
#define CAPTURED_MAX ((1u << 18) + 14)

struct pcap;

struct capture {
	const char *name; /* for messages */
	struct pcap *pcap;
	int link;               /* DLT_* */
	uint64_t packets;       /* read so far, including skipped ones */
	uint64_t skipped;       /* for an invalid timestamp */
	uint64_t first_skipped; /* number of the first one */
	uint64_t size;          /* of the file in bytes; 0: unknown (a pipe) */
};

/* "-" is standard input. 0 or -1. The path must stay valid. Only one capture may be open. */
int capture_open(const char *path, struct capture *out);
void capture_close(struct capture *capture);

/* 1: *out is the next packet with a valid timestamp; 0: end of the capture; -1: error. */
int capture_next(struct capture *capture, struct captured *out);

/* Part of the file that has been read, 0..1000; -1: unknown. */
int capture_permille(const struct capture *capture);

/* ---- write.c: captures, written through libpcap: pcap with nanoseconds. A packet may hold only
 * the first bytes of a frame, with its original length. All functions report errors.
 */

struct capture_writer;

/* "-" is standard output, which must not be a terminal; an existing file is replaced. 0 or -1.
 * `kept`: maximum bytes per frame; without `ethernet`, frames begin with IP. */
int capture_create(const char *path, uint32_t kept, bool ethernet, struct capture_writer **out);

/* Buffered until capture_flush. */
void capture_put(struct capture_writer *writer, const struct captured *packet);

/* 0 or -1. */
int capture_flush(struct capture_writer *writer);

/* Does not flush. NULL is allowed. */
void capture_end(struct capture_writer *writer);

/* ---- link.c: link headers other than Ethernet, their protocol, and where the packet begins
 *
 * Pure; DLT_* as in pcap-linktype(7). */

/* For messages. */
#define LINK_TYPES_READ "EN10MB, LINUX_SLL, LINUX_SLL2, RAW, IPV4, IPV6, NULL, LOOP, PPP, C_HDLC"

#define LINK_NOT_IP     0u /* the header's protocol has no EtherType */

struct link_header {
	uint32_t bytes;     /* length of the header */
	uint16_t ethertype; /* in host order */
	bool sent;          /* by the capturing machine, as far as the header says */
};

/* Is this link type, other than Ethernet, supported? */
bool link_is_known(int type);

/* `size`: captured bytes of the frame. False if they do not hold the whole header; out->bytes is
 * then its minimum length. */
bool link_header_read(int type, const uint8_t *data, uint32_t size, struct link_header *out);

/* ---- direction.c: whether the packets of a capture are those of both directions, what a device
 * received and what it sent
 *
 * Pure, in bounded memory.
 *
 * A cooked link header says which packets were sent. Ethernet frames are those of both directions
 * if one station, the device itself, is sender or receiver of nearly all of them, and sends a part;
 * in a capture of one direction no station both sends and receives. Frames without two stations
 * (tunnels, loopback) are, if a fifth of the packets is between addresses that send to each other.
 */

struct directions;

/* NULL: out of memory. */
struct directions *directions_new(void);
void directions_free(struct directions *directions);

void directions_count(struct directions *directions, const struct captured *packet);

bool directions_both(const struct directions *directions);
