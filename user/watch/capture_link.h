/* SPDX-License-Identifier: GPL-2.0-only */
/* Link headers other than Ethernet's: the protocol that they name, and where the packet begins.
 * Pure; DLT_* as in pcap-linktype(7).
 */
#ifndef RLCTL_CAPTURE_LINK_H
#define RLCTL_CAPTURE_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* As a message lists them. */
#define LINK_TYPES_READ "EN10MB, LINUX_SLL, LINUX_SLL2, RAW, IPV4, IPV6, NULL, LOOP, PPP, C_HDLC"

#define LINK_NOT_IP     0u /* where a header names a protocol that has no EtherType */

struct link_header {
	uint32_t bytes;     /* that the packet begins behind */
	uint16_t ethertype; /* in host order */
};

/* Whether packets of this type can be read, Ethernet's apart. */
bool link_is_known(int type);

/* `size` bytes were captured of the frame. False where that is not the whole header; then
 * out->bytes is the least that the header has. */
bool link_header_read(int type, const uint8_t *data, uint32_t size, struct link_header *out);

#endif
