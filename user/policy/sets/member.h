/* SPDX-License-Identifier: GPL-2.0-only */
/* A member of a set as text: an address or a prefix of either family. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

struct member {
	uint8_t addr[16]; /* mapped, host bits zero */
	uint8_t len;      /* mapped: 96..128 of an IPv4 member */
};

/* Why a text is no member. */
enum member_error {
	MEMBER_OK,
	MEMBER_WRONG,  /* neither an address nor a prefix */
	MEMBER_LENGTH, /* the length is out of range */
	MEMBER_ZONE,   /* an IPv6 address with a zone: fe80::1%eth0 */
	MEMBER_MAPPED, /* an IPv4 address written as an IPv6 one */
};

/* Reads `size` bytes. Host bits are cleared, and *host_bits says that there were some. */
enum member_error member_parse(const char *text, size_t size, struct member *out, bool *host_bits);

/* "203.0.113.7", "10.0.0.0/8", "2001:db8::/32". */
void member_print(char buf[PREFIX_TEXT_MAX], const struct member *member);

static inline bool member_is_ipv4(const struct member *member)
{
	return prefix_is_ipv4(member->addr, member->len);
}
