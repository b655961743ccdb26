// SPDX-License-Identifier: GPL-2.0-only
/* The data path's parser, built for the host, finds the headers: what it calls malformed has none
 * here either.
 */

#include <linux/bpf.h>
#include <string.h>

#include "base/units.h"
#include "rlctl_abi.h"
#include "watch/local/local.h"

/* The constants of a program that simulate loads. */
static const struct rl_config config = {.frames_are_captured = true};

#include "packet/parse.h"

#define ICMP_ECHO_REQUEST   8
#define ICMP_ECHO_REPLY     0
#define ICMPV6_ECHO_REQUEST 128
#define ICMPV6_ECHO_REPLY   129
#define ECHO_ID_AT          4

#define IP_ALIGN            2 /* the IP header after an Ethernet header is aligned */
#define HEADERS_MAX         (TRANSPORT_MAX + 60)

static uint16_t be16_at(const uint8_t *data)
{
	return (uint16_t)(data[0] << 8 | data[1]);
}

static uint32_t be32_at(const uint8_t *data)
{
	return (uint32_t)be16_at(data) << 16 | be16_at(data + 2);
}

static void ports_read(const struct packet *p, enum local_kind kind, struct local_packet *out)
{
	out->kind = kind;
	out->sport = p->sport;
	out->dport = p->dport;
}

static void echo_read(const struct packet *p, const uint8_t *header, struct local_packet *out)
{
	bool ipv4 = p->flags & PACKET_IPV4;
	uint8_t type = header[0], code = header[1];

	if (ipv4 != (p->proto == IPPROTO_ICMP) || code)
		return;
	if (type == (ipv4 ? ICMP_ECHO_REQUEST : ICMPV6_ECHO_REQUEST))
		out->kind = LOCAL_ECHO_REQUEST;
	else if (type == (ipv4 ? ICMP_ECHO_REPLY : ICMPV6_ECHO_REPLY))
		out->kind = LOCAL_ECHO_REPLY;
	out->sport = out->dport = be16_at(header + ECHO_ID_AT);
}

/* The parser has seen that the whole header is there. */
static void transport_read(const struct packet *p, const uint8_t *header, struct local_packet *out)
{
	uint32_t bytes;

	switch (p->proto) {
	case IPPROTO_TCP:
		ports_read(p, LOCAL_TCP, out);
		bytes = (header[12] >> 4) * 4u;
		out->seq = be32_at(header + 4);
		out->ack = be32_at(header + 8);
		out->flags = header[13];
		out->length = p->payload > bytes ? p->payload - bytes : 0;
		break;
	case IPPROTO_UDP:
		ports_read(p, LOCAL_UDP, out);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		echo_read(p, header, out);
		break;
	}
}

void local_packet_parse(const struct captured *captured, struct local_packet *out)
{
	static const uint8_t none[16];
	uint32_t size = captured->size < HEADERS_MAX ? captured->size : HEADERS_MAX;
	_Alignas(8) uint8_t frame[IP_ALIGN + HEADERS_MAX];
	uint8_t *data = frame + IP_ALIGN;
	struct packet p = {0};
	enum parse parse;

	memcpy(data, captured->data, size);
	parse = packet_parse(&p, cursor_at(data, data + size, TRANSPORT_MAX, false),
			     captured->bytes, 0);

	*out = (struct local_packet){
		.time_ns = captured->time_ns,
		.malformed = parse == PARSE_MALFORMED,
	};
	if (parse == PARSE_NON_IP || !memcmp(p.dst, none, sizeof(none)))
		return;
	out->has_addresses = true;
	memcpy(out->src, p.src, sizeof(out->src));
	memcpy(out->dst, p.dst, sizeof(out->dst));
	out->proto = p.proto;
	out->has_ports = p.flags & PACKET_PORTS;
	out->fragment = p.flags & PACKET_FRAGMENT;
	out->later = p.flags & PACKET_LATER;
	if (parse != PARSE_MALFORMED && !(p.flags & PACKET_LATER))
		transport_read(&p, data + p.transport, out);
}

/* A list is searched: 64 comparisons are less than a call of the kernel. */

#define IPV4_AT             12 /* of a mapped address */
#define IPV4_MULTICAST      0xe0
#define IPV4_MULTICAST_MASK 0xf0
#define IPV6_MULTICAST      0xff

static struct local_address *address_find(struct local_addresses *local, const uint8_t addr[16])
{
	for (size_t i = 0; i < local->count; i++) {
		struct local_address *at = &local->list[i];

		if (prefix_contains(at->addr, at->len, addr))
			return at;
	}
	return NULL;
}

/* Multicast, or IPv4's broadcast on every network. */
static bool is_to_everybody(const uint8_t addr[16])
{
	static const uint8_t broadcast[4] = {0xff, 0xff, 0xff, 0xff};

	if (!prefix_is_ipv4(addr, 128))
		return addr[0] == IPV6_MULTICAST;
	return (addr[IPV4_AT] & IPV4_MULTICAST_MASK) == IPV4_MULTICAST ||
	       !memcmp(addr + IPV4_AT, broadcast, sizeof(broadcast));
}

enum local_way local_way_of(struct local_addresses *local, const struct captured *captured,
			    const struct local_packet *packet)
{
	struct local_address *src = NULL, *dst = NULL;

	if (packet->has_addresses) {
		src = address_find(local, packet->src);
		dst = address_find(local, packet->dst);
	}
	if (src)
		src->sent++;
	if (dst)
		dst->arrived++;
	if (captured->sent || (src && !dst))
		return LOCAL_SENT;
	if (dst || !packet->has_addresses || is_to_everybody(packet->dst))
		return LOCAL_ARRIVES;
	return LOCAL_ELSEWHERE;
}
