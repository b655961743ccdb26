/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of TCP flags, of differentiated-services code points (RFC 2474, 2597, 3246) and of ICMP
 * types (the spellings of nft).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The flag's bit in the 14th byte of a TCP header; 0 if unknown. */
uint8_t tcp_flag_by_name(const char *name, int len);
/* The name of bit 0..7 (fin … cwr). */
const char *tcp_flag_name(unsigned int bit);

/* 0..63; -1 if unknown. */
int dscp_by_name(const char *name);
/* NULL if it has none. */
const char *dscp_name(uint8_t dscp);

/* Type of ICMPv6 or ICMP: 0..255; -1 if unknown. */
int icmp_type_by_name(const char *name, bool ipv6);
/* NULL if it has none. */
const char *icmp_type_name(uint8_t type, bool ipv6);
