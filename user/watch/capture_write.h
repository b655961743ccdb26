/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures, written through libpcap: pcap of Ethernet frames with nanoseconds, which may hold only
 * the first bytes of a frame, and its true length. Every function says what went wrong.
 */
#ifndef RLCTL_CAPTURE_WRITE_H
#define RLCTL_CAPTURE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct capture_writer;
struct captured; /* capture.h */

/* "-" is standard output, which must not be a terminal; a file that exists is replaced. 0 or -1.
 * `kept` is how much of a frame there is at most; without `ethernet` it begins with IP. */
int capture_create(const char *path, uint32_t kept, bool ethernet, struct capture_writer **out);

/* What was not flushed may still be lost. */
void capture_put(struct capture_writer *writer, const struct captured *packet);

/* 0 or -1. */
int capture_flush(struct capture_writer *writer);

/* Without flush: NULL is allowed. */
void capture_end(struct capture_writer *writer);

#endif
