// SPDX-License-Identifier: GPL-2.0-only
/* Link headers, one function each; layouts: https://www.tcpdump.org/linktypes.html. A function gets
 * at least as many bytes as its row in `links` has.
 */

#include "watch/capture/capture.h"

#include <linux/if_ether.h>
#include <stddef.h>

#include <pcap/pcap.h>

#define SLL_BYTES     16 /* ends with the protocol */
#define SLL2_BYTES    20 /* begins with the protocol */
#define SLL_SENT      4  /* the type of an outgoing packet: PACKET_OUTGOING */
#define SLL2_TYPE     10 /* where it is */
#define FAMILY_BYTES  4
#define CISCO_BYTES   4 /* address, control, EtherType */
#define PPPOE_BYTES   6 /* RFC 2516 */

#define HDLC_ADDRESS  0xff /* RFC 1662 */
#define HDLC_CONTROL  0x03
#define CISCO_UNICAST 0x0f /* RFC 1547 4.3.1 */
#define CISCO_MULTI   0x8f
#define PPP_IPV4      0x0021
#define PPP_IPV6      0x0057

/* AF_INET is 2 everywhere, AF_INET6 depends on the capturing system. */
#define FAMILY_IPV4    2
#define FAMILY_LINUX   10
#define FAMILY_NETBSD  24 /* and OpenBSD */
#define FAMILY_FREEBSD 28
#define FAMILY_DARWIN  30

static uint16_t be16_at(const uint8_t *data)
{
	return (uint16_t)(data[0] << 8 | data[1]);
}

/* Cooked: LINUX_SLL and LINUX_SLL2. */
static bool sll_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	bool second = out->bytes == SLL2_BYTES;

	(void)size;
	out->ethertype = be16_at(second ? data : data + SLL_BYTES - 2);
	out->sent = (second ? data[SLL2_TYPE] : be16_at(data)) == SLL_SENT;
	return true;
}

/* Any other version is passed on as IPv4, which the packet parser rejects. */
static bool raw_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	out->ethertype = size && data[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP;
	return true;
}

/* NULL has the byte order of the capturing machine, LOOP network byte order; families fit in 16
 * bits. */
static bool family_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	uint32_t family = (uint32_t)be16_at(data) << 16 | be16_at(data + 2);

	(void)size;
	switch (family > UINT16_MAX ? __builtin_bswap32(family) : family) {
	case FAMILY_IPV4:
		out->ethertype = ETH_P_IP;
		break;
	case FAMILY_LINUX:
	case FAMILY_NETBSD:
	case FAMILY_FREEBSD:
	case FAMILY_DARWIN:
		out->ethertype = ETH_P_IPV6;
		break;
	}
	return true;
}

/* The protocol field at out->bytes: one byte if its first byte is odd (RFC 1661), else two. */
static bool ppp_protocol_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	uint32_t at = out->bytes;
	bool is_long = at < size && !(data[at] & 1);
	uint16_t protocol;

	out->bytes += is_long ? 2 : 1;
	if (out->bytes > size)
		return false;
	protocol = is_long ? be16_at(data + at) : data[at];
	out->ethertype = protocol == PPP_IPV4   ? ETH_P_IP
			 : protocol == PPP_IPV6 ? ETH_P_IPV6
						: LINK_NOT_IP;
	return true;
}

static bool cisco_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	out->bytes = CISCO_BYTES;
	if (size < CISCO_BYTES)
		return false;
	out->ethertype = be16_at(data + 2);
	return true;
}

/* Address and control may be missing (RFC 1661, address-and-control-field compression). */
static bool ppp_read(const uint8_t *data, uint32_t size, struct link_header *out)
{
	if (data[0] == CISCO_UNICAST || data[0] == CISCO_MULTI)
		return cisco_read(data, size, out);
	out->bytes = data[0] == HDLC_ADDRESS ? 2 : 0;
	if (size < out->bytes)
		return false;
	if (out->bytes && data[1] != HDLC_CONTROL)
		out->bytes = 0;
	return ppp_protocol_read(data, size, out);
}

static const struct link {
	int type;
	uint32_t bytes;     /* minimum length of the header */
	uint16_t ethertype; /* unless `read` finds another one */
	bool (*read)(const uint8_t *data, uint32_t size, struct link_header *out);
} links[] = {
	{DLT_LINUX_SLL, SLL_BYTES, LINK_NOT_IP, sll_read},
	{DLT_LINUX_SLL2, SLL2_BYTES, LINK_NOT_IP, sll_read},
	{DLT_RAW, 0, LINK_NOT_IP, raw_read},
	{DLT_IPV4, 0, ETH_P_IP, NULL},
	{DLT_IPV6, 0, ETH_P_IPV6, NULL},
	{DLT_NULL, FAMILY_BYTES, LINK_NOT_IP, family_read},
	{DLT_LOOP, FAMILY_BYTES, LINK_NOT_IP, family_read},
	{DLT_PPP, 1, LINK_NOT_IP, ppp_read},
	{DLT_PPP_SERIAL, 1, LINK_NOT_IP, ppp_read},
	{DLT_PPP_ETHER, PPPOE_BYTES, LINK_NOT_IP, ppp_protocol_read},
	{DLT_C_HDLC, CISCO_BYTES, LINK_NOT_IP, cisco_read},
};

static const struct link *link_find(int type)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i].type == type)
			return &links[i];
	return NULL;
}

bool link_is_known(int type)
{
	return link_find(type);
}

bool link_header_read(int type, const uint8_t *data, uint32_t size, struct link_header *out)
{
	const struct link *link = link_find(type);

	*out = (struct link_header){.bytes = link ? link->bytes : 0,
				    .ethertype = link ? link->ethertype : LINK_NOT_IP};
	return link && size >= link->bytes && (!link->read || link->read(data, size, out));
}
