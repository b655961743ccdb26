/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures, read packet by packet through libpcap: pcap and pcapng. Packets of other link types
 * than Ethernet get an Ethernet header in place of their own, with no addresses, and count with the
 * length that this makes. Every function says on stderr what went wrong, with the packet's number
 * where it is one packet.
 */
#ifndef RLCTL_CAPTURE_H
#define RLCTL_CAPTURE_H

#include <stdint.h>

#include "captured.h"

struct pcap;

struct capture {
	const char *name; /* as messages show it */
	struct pcap *pcap;
	int link;               /* DLT_* */
	uint64_t packets;       /* read so far, those that were skipped among them */
	uint64_t skipped;       /* for an invalid time stamp */
	uint64_t first_skipped; /* its number */
	uint64_t size;          /* of the file in bytes; 0: not known (a pipe) */
};

/* "-" is standard input. 0 or -1. The path must live as long as the capture. One at a time. */
int capture_open(const char *path, struct capture *out);
void capture_close(struct capture *capture);

/* 1: *out is the next packet that has a time; 0: there is none; -1. */
int capture_next(struct capture *capture, struct captured *out);

/* How much of the file has been read, 0..1000; -1: not known. */
int capture_permille(const struct capture *capture);

#endif
