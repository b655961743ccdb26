/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet of a capture. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct captured {
	uint64_t time_ns;    /* since 1970 */
	const uint8_t *data; /* valid until the next one is read */
	uint32_t size;       /* bytes at data */
	uint32_t bytes;      /* length of the Ethernet frame on the wire, without FCS; >= size */
	bool sent;           /* its link header says that the capturing machine sent it */
};
