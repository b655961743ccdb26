/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames from words, header by header from the outside, so that a test's row shows its packet:
 *   "8021q ip4 udp=1000>53 data=20"      "ip6=2001:db8::1>2001:db8::2 hop frag=0+ tcp"
 *
 *   8021q  8021ad          a VLAN tag; Ethernet itself is always there
 *   ip4[=SRC[>DST]]  ip6[=SRC[>DST]]     192.0.2.1>198.51.100.1, 2001:db8::1>2001:db8:1::1
 *   options=N              N bytes of IPv4 options, behind ip4; df sets that bit
 *   hop routing dst ah mobility hip shim6 [=N]    an extension header with 8 * N bytes more
 *   (ah: 4 * N)            frag=OFFSET[+]: ip6's fragment header, of ip4 the fields; + more follow
 *   tcp udp sctp [=SPORT>DPORT]  syn  synack      ports 1000>2000
 *   icmp icmp6 gre esp     proto=N       8 bytes of protocol N
 *   rs ra ns=TARGET na=TARGET answer=TARGET redirect   neighbour discovery, with a hop limit of
 * 255; an answer is a solicited advertisement type=N                 the EtherType of what is not
 * IP data=N                 N bytes Lengths are right by now. What follows makes them wrong, or
 * adds what they do not count: version=N ihl=N length=N (of ip4 in total, of ip6 behind the header)
 * longer=N  shorter=N udplen=N  doff=N  hops=N (the hop limit)  code=N (of neighbour discovery)
 *   pad=N                  N bytes behind the IP packet         cut=N   only N bytes of the frame
 */
#ifndef TESTS_SHAPE_H
#define TESTS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define SHAPE_BYTES_MAX 20000

struct shape {
	uint8_t bytes[SHAPE_BYTES_MAX];
	uint32_t size;
	uint32_t next_at, next_bytes;   /* where the type of the next header stands */
	uint32_t ip_at, ip_bytes;       /* 0 bytes: none; with options, without extensions */
	uint32_t udp_at, tcp_at, nd_at; /* 0: none */
	uint32_t end;                   /* of what the lengths count */
};

/* Ends the program, naming the word, where the text is wrong. */
void shape_build(struct shape *shape, const char *words);

/* The kernel's test run takes no skb without the IP header that its Ethernet type speaks of, and
 * none that is longer than a page leaves room for. */
bool shape_runs_as_skb(const struct shape *shape);

#endif
