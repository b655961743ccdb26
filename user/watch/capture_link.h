/* SPDX-License-Identifier: GPL-2.0-only */
/* Link headers other than Ethernet: their protocol, and where the packet begins. Pure; DLT_* as in
 * pcap-linktype(7).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
