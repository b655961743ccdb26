/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures, written through libpcap: pcap with nanoseconds. A packet may hold only the first bytes
 * of a frame, with its original length. All functions report errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct capture_writer;
struct captured; /* capture.h */

/* "-" is standard output, which must not be a terminal; an existing file is replaced. 0 or -1.
 * `kept`: maximum bytes per frame; without `ethernet`, frames begin with IP. */
int capture_create(const char *path, uint32_t kept, bool ethernet, struct capture_writer **out);

/* Buffered until capture_flush. */
void capture_put(struct capture_writer *writer, const struct captured *packet);

/* 0 or -1. */
int capture_flush(struct capture_writer *writer);

/* Does not flush. NULL is allowed. */
void capture_end(struct capture_writer *writer);
