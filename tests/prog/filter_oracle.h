/* SPDX-License-Identifier: GPL-2.0-only */
/* tcpdump's verdict on a filter: libpcap's own interpreter, on a packet from its IP header on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct filter_oracle;

struct filter_oracle *filter_oracle_open(const char *expression);
bool filter_oracle_holds(const struct filter_oracle *oracle, const uint8_t *packet, uint32_t bytes);
void filter_oracle_close(struct filter_oracle *oracle);
