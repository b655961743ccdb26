/* SPDX-License-Identifier: GPL-2.0-only */
/* Random expressions of pcap-filter(7). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One that libpcap may still refuse: it rejects all packets, or divides by zero. */
void expression_draw(char *out, size_t size, uint64_t *seed);
