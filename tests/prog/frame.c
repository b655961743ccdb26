// SPDX-License-Identifier: GPL-2.0-only
/* One function for each word of frame.h. */
#include "frame.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_up(const char *word)
{
	fprintf(stderr, "frame: %s makes no sense here\n", word);
	exit(2);
}

static void *frame_grow(struct frame *s, uint32_t bytes)
{
	uint8_t *at = s->bytes + s->size;

	if (bytes > FRAME_BYTES_MAX - s->size)
		give_up("so much");
	memset(at, 0, bytes);
	s->size += bytes;
	return at;
}

static void put_be16(uint8_t *at, uint32_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static uint32_t get_be16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t number(const char *text)
{
	return text ? strtoul(text, NULL, 0) : 0;
}

/* The text after a word's '=', and what the table of words has beside its function. */
struct argument {
	const char *text; /* NULL: nothing */
	uint32_t number;
	uint32_t detail;
};

/* Says in the header before what the next one is. */
static void frame_announce(struct frame *s, uint32_t type)
{
	if (s->next_bytes == 2)
		put_be16(s->bytes + s->next_at, type);
	else
		s->bytes[s->next_at] = type;
}

static void frame_next(struct frame *s, uint32_t at, uint32_t bytes)
{
	s->next_at = at;
	s->next_bytes = bytes;
}

/* ---- Ethernet */

const uint8_t frame_device[ETH_ALEN] = {2, 0, 0, 0, 0, 1};

static void frame_ethernet(struct frame *s)
{
	static const uint8_t source[ETH_ALEN] = {2, 0, 0, 0, 0, 2};
	uint8_t *at = frame_grow(s, ETH_HLEN);

	memcpy(at, frame_device, ETH_ALEN);
	memcpy(at + ETH_ALEN, source, ETH_ALEN);
	frame_next(s, 2 * ETH_ALEN, 2);
}

static void add_vlan(struct frame *s, const struct argument *a)
{
	uint8_t *tag;

	frame_announce(s, a->detail);
	tag = frame_grow(s, 4);
	put_be16(tag, a->text ? a->number : 7);
	frame_next(s, s->size - 2, 2);
}

static void add_type(struct frame *s, const struct argument *a)
{
	frame_announce(s, a->number);
}

/* ---- IP */

static void put_address(int family, const char *text, void *out)
{
	if (inet_pton(family, text, out) != 1)
		give_up(text);
}

static void put_addresses(int family, const char *arg, void *src, void *dst)
{
	const char *from = family == AF_INET ? "192.0.2.1" : "2001:db8::1";
	const char *to = family == AF_INET ? "198.51.100.1" : "2001:db8:1::1";
	char text[2 * INET6_ADDRSTRLEN], *arrow;

	snprintf(text, sizeof(text), "%s", arg ? arg : "");
	arrow = strchr(text, '>');
	if (arrow)
		*arrow++ = '\0';
	put_address(family, *text ? text : from, src);
	put_address(family, arrow ? arrow : to, dst);
}

static void add_ip4(struct frame *s, const struct argument *a)
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64};

	frame_announce(s, ETH_P_IP);
	s->ip_at = s->size;
	s->ip_bytes = sizeof(ip);
	put_addresses(AF_INET, a->text, &ip.saddr, &ip.daddr);
	memcpy(frame_grow(s, sizeof(ip)), &ip, sizeof(ip));
	frame_next(s, s->ip_at + offsetof(struct iphdr, protocol), 1);
}

static void add_options(struct frame *s, const struct argument *a)
{
	memset(frame_grow(s, a->number), 1, a->number); /* no-operation */
	s->ip_bytes += a->number;
	s->bytes[s->ip_at] += a->number / 4;
}

static void add_ip6(struct frame *s, const struct argument *a)
{
	struct ipv6hdr ip = {.version = 6, .hop_limit = 64};

	frame_announce(s, ETH_P_IPV6);
	s->ip_at = s->size;
	s->ip_bytes = sizeof(ip);
	put_addresses(AF_INET6, a->text, &ip.saddr, &ip.daddr);
	memcpy(frame_grow(s, sizeof(ip)), &ip, sizeof(ip));
	frame_next(s, s->ip_at + offsetof(struct ipv6hdr, nexthdr), 1);
}

static void add_extension(struct frame *s, const struct argument *a)
{
	uint8_t *header;

	frame_announce(s, a->detail);
	header = frame_grow(s, 8 + (a->detail == IPPROTO_AH ? 4 : 8) * a->number);
	header[1] = a->number;
	frame_next(s, header - s->bytes, 1);
}

/* Offsets are in bytes. */
static void add_fragment(struct frame *s, const struct argument *a)
{
	bool more = a->text && strchr(a->text, '+');
	uint8_t *header;

	if (s->bytes[s->ip_at] >> 4 == 4) {
		put_be16(s->bytes + s->ip_at + 6, a->number / 8 | (more ? 0x2000 : 0));
		return;
	}
	frame_announce(s, IPPROTO_FRAGMENT);
	header = frame_grow(s, 8);
	put_be16(header + 2, (a->number & ~7u) | more);
	frame_next(s, header - s->bytes, 1);
}

static void set_df(struct frame *s, const struct argument *a)
{
	(void)a;
	s->bytes[s->ip_at + 6] |= 0x40;
}

/* ---- what IP carries */

static void put_ports(uint8_t *at, const struct argument *a)
{
	const char *arrow = a->text ? strchr(a->text, '>') : NULL;

	put_be16(at, a->text && *a->text != '>' ? a->number : 1000);
	put_be16(at + 2, arrow ? number(arrow + 1) : 2000);
}

enum { FLAG_SYN = 1, FLAG_ACK = 2 };

static void add_tcp(struct frame *s, const struct argument *a)
{
	struct tcphdr tcp = {
		.doff = 5, .syn = !!(a->detail & FLAG_SYN), .ack = !!(a->detail & FLAG_ACK)};

	frame_announce(s, IPPROTO_TCP);
	s->tcp_at = s->size;
	memcpy(frame_grow(s, sizeof(tcp)), &tcp, sizeof(tcp));
	put_ports(s->bytes + s->tcp_at, a);
}

/* UDP or SCTP. */
static void add_ports(struct frame *s, const struct argument *a)
{
	bool udp = a->detail == IPPROTO_UDP;

	frame_announce(s, a->detail);
	if (udp)
		s->udp_at = s->size;
	put_ports(frame_grow(s, udp ? sizeof(struct udphdr) : 12), a);
}

static void add_proto(struct frame *s, const struct argument *a)
{
	frame_announce(s, a->text ? a->number : a->detail);
	frame_grow(s, 8);
}

static void set_ttl(struct frame *s, const struct argument *a)
{
	bool ipv6 = s->bytes[s->ip_at] >> 4 == 6;

	s->bytes[s->ip_at + (ipv6 ? offsetof(struct ipv6hdr, hop_limit)
				  : offsetof(struct iphdr, ttl))] = a->number;
}

static void set_dscp(struct frame *s, const struct argument *a)
{
	uint32_t class = a->number << 2 | 3;
	uint8_t *ip = s->bytes + s->ip_at;

	if (ip[0] >> 4 == 4)
		ip[1] = class;
	else
		put_be16(ip, 6 << 12 | class << 4);
}

static void add_echo(struct frame *s, const struct argument *a)
{
	bool ipv4 = s->bytes[s->ip_at] >> 4 == 4;
	uint8_t *message;

	frame_announce(s, ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	s->icmp_at = s->size;
	message = frame_grow(s, 8);
	message[0] = ipv4 ? (a->detail ? 0 : 8) : 128 + a->detail;
	put_be16(message + 4, a->number);
}

/* detail: the type, and the flags of an advertisement. */
static void add_neighbour(struct frame *s, const struct argument *a)
{
	static const uint8_t sizes[] = {8, 16, 24, 24, 40};
	uint8_t type = a->detail, *message;

	frame_announce(s, IPPROTO_ICMPV6);
	s->bytes[s->ip_at + offsetof(struct ipv6hdr, hop_limit)] = 255;
	s->icmp_at = s->size;
	message = frame_grow(s, sizes[type - 133]);
	message[0] = type;
	message[4] = a->detail >> 8;
	if (a->text)
		put_address(AF_INET6, a->text, message + 8);
}

static void add_data(struct frame *s, const struct argument *a)
{
	memset(frame_grow(s, a->number), 0xda, a->number);
}

static void add_bytes(struct frame *s, const struct argument *a)
{
	unsigned int byte;

	for (const char *at = a->text; sscanf(at, "%2x", &byte) == 1; at += 2)
		*(uint8_t *)frame_grow(s, 1) = byte;
}

static void add_query(struct frame *s, const struct argument *a)
{
	static const uint8_t query[] = {0x12, 0x34, 1,   0,   0,   1,   0,   0, 0, 0, 0, 0, 7,
					'e',  'x',  'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1};

	(void)a;
	memcpy(frame_grow(s, sizeof(query)), query, sizeof(query));
}

/* ---- lengths, right and wrong */

static uint8_t *ip_length_at(struct frame *s)
{
	return s->bytes + s->ip_at + (s->bytes[s->ip_at] >> 4 == 6 ? 4 : 2);
}

static void frame_end(struct frame *s)
{
	uint32_t bytes = s->size - s->ip_at;

	s->end = s->size;
	if (s->udp_at)
		put_be16(s->bytes + s->udp_at + 4, s->size - s->udp_at);
	if (s->ip_bytes)
		put_be16(ip_length_at(s),
			 s->bytes[s->ip_at] >> 4 == 6 ? bytes - s->ip_bytes : bytes);
}

/* detail 0: that number; 1, -1: so many more, or fewer. */
static void set_length(struct frame *s, const struct argument *a)
{
	uint8_t *at = ip_length_at(s);

	put_be16(at, a->detail ? get_be16(at) + a->detail * a->number : a->number);
}

/* A field of a byte: in which header and where, the bits beside it, how far it is shifted. */
#define FIELD(header, offset, beside, shift) \
	((header) << 24 | (offset) << 16 | (beside) << 8 | (shift))
enum { IP, TCP, ICMP };

static void set_field(struct frame *s, const struct argument *a)
{
	const uint32_t headers[] = {[IP] = s->ip_at, [TCP] = s->tcp_at, [ICMP] = s->icmp_at};
	uint8_t *field = s->bytes + headers[a->detail >> 24] + (a->detail >> 16 & 0xff);

	*field = (*field & a->detail >> 8) | a->number << (a->detail & 0xff);
}

static void set_udplen(struct frame *s, const struct argument *a)
{
	put_be16(s->bytes + s->udp_at + 4, a->number);
}

static void set_size(struct frame *s, const struct argument *a)
{
	if (a->number > s->size)
		give_up("cut");
	s->size = a->number;
}

/* ---- words */

static const struct word {
	const char *name;
	void (*add)(struct frame *s, const struct argument *a);
	uint32_t detail;
	bool late; /* after the lengths */
} words[] = {
	{"8021q", add_vlan, ETH_P_8021Q, false},
	{"8021ad", add_vlan, ETH_P_8021AD, false},
	{"type", add_type, 0, false},
	{"ip4", add_ip4, 0, false},
	{"options", add_options, 0, false},
	{"ip6", add_ip6, 0, false},
	{"hop", add_extension, IPPROTO_HOPOPTS, false},
	{"routing", add_extension, IPPROTO_ROUTING, false},
	{"dst", add_extension, IPPROTO_DSTOPTS, false},
	{"ah", add_extension, IPPROTO_AH, false},
	{"mobility", add_extension, 135, false},
	{"hip", add_extension, 139, false},
	{"shim6", add_extension, 140, false},
	{"frag", add_fragment, 0, false},
	{"df", set_df, 0, false},
	{"tcp", add_tcp, FLAG_ACK, false},
	{"syn", add_tcp, FLAG_SYN, false},
	{"synack", add_tcp, FLAG_SYN | FLAG_ACK, false},
	{"udp", add_ports, IPPROTO_UDP, false},
	{"sctp", add_ports, IPPROTO_SCTP, false},
	{"icmp", add_proto, IPPROTO_ICMP, false},
	{"icmp6", add_proto, IPPROTO_ICMPV6, false},
	{"gre", add_proto, IPPROTO_GRE, false},
	{"esp", add_proto, IPPROTO_ESP, false},
	{"proto", add_proto, 0, false},
	{"ping", add_echo, false, false},
	{"pong", add_echo, true, false},
	{"rs", add_neighbour, 133, false},
	{"ra", add_neighbour, 134, false},
	{"ns", add_neighbour, 135, false},
	{"na", add_neighbour, 136, false},
	{"answer", add_neighbour, 0x4000 | 136, false},
	{"redirect", add_neighbour, 137, false},
	{"data", add_data, 0, false},
	{"bytes", add_bytes, 0, false},
	{"query", add_query, 0, false},
	{"version", set_field, FIELD(IP, 0, 0x0f, 4), true},
	{"ihl", set_field, FIELD(IP, 0, 0xf0, 0), true},
	{"length", set_length, 0, true},
	{"longer", set_length, 1, true},
	{"shorter", set_length, -1u, true},
	{"udplen", set_udplen, 0, true},
	{"doff", set_field, FIELD(TCP, 12, 0, 4), true},
	{"hops", set_field, FIELD(IP, 7, 0, 0), true},
	{"ttl", set_ttl, 0, true},
	{"dscp", set_dscp, 0, true},
	{"flags", set_field, FIELD(TCP, 13, 0, 0), true},
	{"icmptype", set_field, FIELD(ICMP, 0, 0, 0), true},
	{"code", set_field, FIELD(ICMP, 1, 0, 0), true},
	{"pad", add_data, 0, true},
	{"cut", set_size, 0, true},
};

static const struct word *word_find(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	give_up(name);
	return NULL;
}

void frame_build(struct frame *s, const char *text)
{
	char copy[512], *rest = NULL;

	s->size = s->next_at = s->next_bytes = s->end = 0;
	s->ip_at = s->ip_bytes = s->udp_at = s->tcp_at = s->icmp_at = 0;
	frame_ethernet(s);
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		char *after = strchr(w, '=');
		const struct word *word;

		if (after)
			*after++ = '\0';
		word = word_find(w);
		if (word->late && !s->end)
			frame_end(s);
		word->add(s, &(struct argument){after, number(after), word->detail});
	}
	if (!s->end)
		frame_end(s);
}

#define SKB_BYTES_MAX 3500

bool frame_runs_as_skb(const struct frame *frame)
{
	uint32_t type = get_be16(frame->bytes + 2 * ETH_ALEN);
	uint32_t least = type == ETH_P_IP ? 34 : type == ETH_P_IPV6 ? 54 : 15;

	return frame->size >= least && frame->size <= SKB_BYTES_MAX;
}

/* ---- addresses and ports of a frame that is built */

static bool frame_is_ip4(const struct frame *frame)
{
	return frame->bytes[frame->ip_at] >> 4 == 4;
}

static void address_put(struct frame *frame, const uint8_t addr[16], uint32_t at4, uint32_t at6)
{
	uint8_t *ip = frame->bytes + frame->ip_at;

	if (frame_is_ip4(frame))
		memcpy(ip + at4, addr + 12, 4);
	else
		memcpy(ip + at6, addr, 16);
}

void frame_source(struct frame *frame, const uint8_t addr[16])
{
	address_put(frame, addr, 12, 8);
}

void frame_dest(struct frame *frame, const uint8_t addr[16])
{
	address_put(frame, addr, 16, 24);
}

void frame_ports(struct frame *frame, uint16_t sport, uint16_t dport)
{
	uint32_t at = frame->udp_at ? frame->udp_at : frame->tcp_at;
	uint8_t ports[4] = {sport >> 8, sport, dport >> 8, dport};

	memcpy(frame->bytes + at, ports, sizeof(ports));
}

void address_ip4(uint8_t out[16], uint32_t number)
{
	uint8_t addr[16] = {[10] = 0xff, 0xff, 10, number >> 16, number >> 8, number};

	memcpy(out, addr, sizeof(addr));
}

void address_ip6(uint8_t out[16], uint32_t network, uint32_t host)
{
	uint8_t addr[16] = {0x20, 0x01, 0x0d, 0xb8};

	for (int i = 0; i < 4; i++) {
		addr[7 - i] = network >> 8 * i;
		addr[15 - i] = host >> 8 * i;
	}
	memcpy(out, addr, sizeof(addr));
}
