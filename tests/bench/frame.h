/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame that flood repeats, as pure functions: headers and padding with the source address left
 * zero, where the changing words are, and the checksums' sums without them (RFC 1071, words as they
 * lie in memory).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

enum frame_proto { FRAME_UDP, FRAME_TCP, FRAME_ICMP, FRAME_DNS };

/* A query for the addresses of "example.". */
static const uint8_t frame_query[] = {0x12, 0x34, 1,   0,   0,   1,   0,   0, 0, 0, 0, 0, 7,
				      'e',  'x',  'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1};

/* Ethernet's minimum without FCS, and the space that live frames leave in a page. */
enum { FRAME_BYTES_MIN = 60, FRAME_BYTES_MAX = 3328 };

/* The most that is written anew in each frame: all headers, that of DNS among them. */
enum { FRAME_HEAD_MAX = 80 };

struct frame_spec {
	bool ipv6;
	enum frame_proto proto;
	uint8_t tcp_flags; /* TH_SYN and so on */
	uint8_t smac[ETH_ALEN], dmac[ETH_ALEN];
	uint8_t dst[16];       /* IPv4 in the first four bytes */
	uint16_t sport, dport; /* sport 0: written by the frame maker */
	uint32_t size;         /* without FCS */
};

struct frame {
	uint8_t bytes[FRAME_BYTES_MAX];
	uint32_t size, head_bytes;
	uint32_t source_at, port_at;
	uint32_t ip_check_at, l4_check_at; /* 0: does not change */
	uint32_t ip_sum, l4_sum;
};

static inline uint32_t frame_l3_bytes(const struct frame_spec *s)
{
	return s->ipv6 ? sizeof(struct ip6_hdr) : sizeof(struct ip);
}

static inline uint32_t frame_l4_bytes(const struct frame_spec *s)
{
	switch (s->proto) {
	case FRAME_TCP:
		return sizeof(struct tcphdr);
	case FRAME_DNS:
		return sizeof(struct udphdr) + sizeof(frame_query);
	default:
		return sizeof(struct udphdr);
	}
}

static inline uint32_t frame_bytes_min(const struct frame_spec *s)
{
	uint32_t n = ETH_HLEN + frame_l3_bytes(s) + frame_l4_bytes(s);

	return n < FRAME_BYTES_MIN ? FRAME_BYTES_MIN : n;
}

/* L4 header and payload; a TCP segment carries data only if it was asked to be longer than
 * Ethernet's least. */
static inline uint32_t frame_l4_length(const struct frame_spec *s)
{
	if (s->proto == FRAME_TCP && s->size == FRAME_BYTES_MIN)
		return frame_l4_bytes(s);
	return s->size - ETH_HLEN - frame_l3_bytes(s);
}

static inline uint8_t frame_ip_proto(const struct frame_spec *s)
{
	switch (s->proto) {
	case FRAME_TCP:
		return IPPROTO_TCP;
	case FRAME_ICMP:
		return s->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	default:
		return IPPROTO_UDP;
	}
}

static inline uint32_t frame_sum(const void *data, uint32_t bytes)
{
	const uint8_t *p = data;
	uint32_t sum = 0;
	uint16_t word;

	for (; bytes > 1; bytes -= 2, p += 2) {
		memcpy(&word, p, 2);
		sum += word;
	}
	return bytes ? sum + htons((uint16_t)(*p << 8)) : sum;
}

static inline uint16_t frame_sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static inline void frame_ip_build(struct frame *f, const struct frame_spec *s)
{
	struct ip ip = {.ip_v = 4, .ip_hl = 5, .ip_ttl = 64, .ip_p = frame_ip_proto(s)};

	ip.ip_len = htons((uint16_t)(sizeof(ip) + frame_l4_length(s)));
	ip.ip_off = htons(IP_DF);
	memcpy(&ip.ip_dst, s->dst, sizeof(ip.ip_dst));
	memcpy(f->bytes + ETH_HLEN, &ip, sizeof(ip));
	f->source_at = ETH_HLEN + offsetof(struct ip, ip_src);
	f->ip_check_at = ETH_HLEN + offsetof(struct ip, ip_sum);
	f->ip_sum = frame_sum(&ip, sizeof(ip));
}

static inline void frame_ip6_build(struct frame *f, const struct frame_spec *s)
{
	struct ip6_hdr ip = {};

	ip.ip6_flow = htonl(6u << 28);
	ip.ip6_plen = htons((uint16_t)frame_l4_length(s));
	ip.ip6_nxt = frame_ip_proto(s);
	ip.ip6_hlim = 64;
	memcpy(&ip.ip6_dst, s->dst, sizeof(ip.ip6_dst));
	memcpy(f->bytes + ETH_HLEN, &ip, sizeof(ip));
	f->source_at = ETH_HLEN + offsetof(struct ip6_hdr, ip6_src);
}

static inline void frame_udp_build(struct frame *f, const struct frame_spec *s, uint32_t at)
{
	struct udphdr udp = {.source = htons(s->sport), .dest = htons(s->dport)};

	udp.len = htons((uint16_t)frame_l4_length(s));
	memcpy(f->bytes + at, &udp, sizeof(udp));
	f->l4_check_at = at + offsetof(struct udphdr, check);
}

static inline void frame_dns_build(struct frame *f, const struct frame_spec *s, uint32_t at)
{
	frame_udp_build(f, s, at);
	memcpy(f->bytes + at + sizeof(struct udphdr), frame_query, sizeof(frame_query));
}

static inline void frame_tcp_build(struct frame *f, const struct frame_spec *s, uint32_t at)
{
	struct tcphdr tcp = {.source = htons(s->sport), .dest = htons(s->dport)};

	tcp.seq = htonl(1);
	tcp.doff = sizeof(tcp) / 4;
	tcp.th_flags = s->tcp_flags;
	if (s->tcp_flags & TH_ACK)
		tcp.ack_seq = htonl(1);
	tcp.window = htons(64240);
	memcpy(f->bytes + at, &tcp, sizeof(tcp));
	f->l4_check_at = at + offsetof(struct tcphdr, check);
}

/* ICMP's checksum covers no address and is final here; ICMPv6's does. */
static inline void frame_echo_build(struct frame *f, const struct frame_spec *s, uint32_t at)
{
	struct icmphdr echo = {.type = s->ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO};

	echo.un.echo.id = htons(1);
	echo.un.echo.sequence = htons(1);
	if (!s->ipv6)
		echo.checksum = frame_sum_fold(frame_sum(&echo, sizeof(echo)));
	else
		f->l4_check_at = at + offsetof(struct icmphdr, checksum);
	memcpy(f->bytes + at, &echo, sizeof(echo));
}

/* The size must be from frame_bytes_min() to FRAME_BYTES_MAX. */
static inline void frame_build(struct frame *f, const struct frame_spec *s)
{
	static void (*const l4_build[])(struct frame *, const struct frame_spec *, uint32_t) = {
		[FRAME_UDP] = frame_udp_build,
		[FRAME_TCP] = frame_tcp_build,
		[FRAME_ICMP] = frame_echo_build,
		[FRAME_DNS] = frame_dns_build,
	};
	uint32_t at = ETH_HLEN + frame_l3_bytes(s), length = frame_l4_length(s);
	struct ether_header eth = {.ether_type = htons(s->ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)};

	memset(f, 0, sizeof(*f));
	f->size = s->size;
	f->head_bytes = frame_bytes_min(s);
	if (f->head_bytes > FRAME_HEAD_MAX)
		f->head_bytes = FRAME_HEAD_MAX;
	f->port_at = at;
	memcpy(eth.ether_dhost, s->dmac, ETH_ALEN);
	memcpy(eth.ether_shost, s->smac, ETH_ALEN);
	memcpy(f->bytes, &eth, sizeof(eth));
	if (s->ipv6)
		frame_ip6_build(f, s);
	else
		frame_ip_build(f, s);
	l4_build[s->proto](f, s, at);
	f->l4_sum = frame_sum(f->bytes + at, length) + frame_sum(s->dst, s->ipv6 ? 16 : 4) +
		    htons(frame_ip_proto(s)) + htons((uint16_t)length);
}
