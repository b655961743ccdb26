/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames from words, header by header from the outside, so that a test's row shows its packet:
 *   "8021q ip4 udp=1000>53 data=20"      "ip6=2001:db8::1>2001:db8::2 hop frag=0+ tcp"
 *
 *   8021q  8021ad                       a VLAN tag; Ethernet itself is always there
 *   ip4[=SRC[>DST]]  ip6[=SRC[>DST]]    192.0.2.1>198.51.100.1, 2001:db8::1>2001:db8:1::1
 *   options=N  df                       N bytes of IPv4 options; the bit
 *   hop routing dst ah mobility hip shim6 [=N]    an extension header with 8 * N bytes more
 *                                       (ah: 4 * N)
 *   frag=OFFSET[+]                      IPv6's fragment header, IPv4's fields; + more follow
 *   tcp udp sctp [=SPORT>DPORT]  syn  synack      ports 1000>2000
 *   icmp icmp6 gre esp  proto=N         8 bytes of protocol N
 *   ping=ID pong=ID                     an echo request or reply, of ICMP or ICMPv6
 *   rs ra ns=TARGET na=TARGET answer=TARGET redirect    neighbour discovery, hop limit 255;
 *                                       answer: a solicited advertisement
 *   type=N                              the EtherType of what is not IP
 *   data=N  bytes=HEX  query            N bytes; these; a DNS query for example, type A
 *
 * Lengths are right up to here. The next words make them wrong, or add what they do not count:
 *   version=N  ihl=N  udplen=N  doff=N
 *   length=N  longer=N  shorter=N       IPv4's total length, IPv6's payload length
 *   hops=N  icmptype=N  code=N          the hop limit; type and code of ICMP's ping and others
 *   ttl=N  dscp=N  flags=N              TTL or hop limit; DSCP, beside set ECN bits; TCP's flags
 *   pad=N  cut=N                        N bytes behind the IP packet; only N bytes of the frame
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAME_BYTES_MAX 20000

struct frame {
	uint8_t bytes[FRAME_BYTES_MAX];
	uint32_t size;
	uint32_t next_at, next_bytes;     /* where the type of the next header stands */
	uint32_t ip_at, ip_bytes;         /* 0 bytes: none; with options, without extensions */
	uint32_t udp_at, tcp_at, icmp_at; /* 0: none */
	uint32_t end;                     /* of what the lengths count */
};

/* The address of the device to which frames are sent. */
extern const uint8_t frame_device[6];

/* Ends the program, naming the word, where the text is wrong. */
void frame_build(struct frame *frame, const char *words);

/* The kernel's test run accepts no skb without the IP header that its Ethernet type announces, and
 * none larger than a page leaves room for. */
bool frame_runs_as_skb(const struct frame *frame);

/* Another address or other ports in a frame that is built. Addresses are mapped, ports in host
 * order; ports are those of UDP or TCP. */
void frame_source(struct frame *frame, const uint8_t addr[16]);
void frame_dest(struct frame *frame, const uint8_t addr[16]);
void frame_ports(struct frame *frame, uint16_t sport, uint16_t dport);

/* 10.0.0.0/8 and 2001:db8::/32, by number. */
void address_ip4(uint8_t out[16], uint32_t number);
void address_ip6(uint8_t out[16], uint32_t network, uint32_t host);
