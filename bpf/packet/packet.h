/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet: the fields that the limits need. parse.h reads them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "algorithm/key_len.h"
#include "packet/facts.h"
#include "rlctl_abi.h"
#include "variant.h"

#define VLAN_TAGS_MAX    2
#define VLAN_ID          0xfff /* in a tag */
#define EXTENSIONS_MAX   8
#define TRANSPORT_MAX    RL_HEADERS_REACH /* further in, no linear part of a frame reaches */
#define PACKET_BYTES_MAX 0xffff           /* that an IP header can say */
#define IPV4_OFFSET_MASK 0x1fff
#define IPV4_MORE        0x2000
#define IPV6_OFFSET_MASK 0xfff8
#define IPV6_MORE        0x0001

#define ND_FIRST         133 /* types of ICMPv6 */
#define ND_LAST          137

#define IPPROTO_MOBILITY 135
#define IPPROTO_HIP      139
#define IPPROTO_SHIM6    140

enum packet_flag {
	PACKET_IPV4 = 1 << 0,
	PACKET_PORTS = 1 << 1,
	PACKET_SYN = RL_KIND_SYN,
	PACKET_FRAGMENT = RL_KIND_FRAGMENT,
	PACKET_LATER = 1 << 4,    /* a fragment without the transport header */
	PACKET_EXTENDED = 1 << 5, /* IPv6 with extension headers */
};

/* The amount that one limit has consumed for a packet, in its algorithm's terms. */
#define RECEIPT_OF_BATCH 0 /* grains of a shared bucket: none, a CPU's batch paid */
union receipt {
	__u64 grains; /* bucket, warm-up: by how much its word grew */
	__u64 window; /* fixed window: its tag and the amount */
	__u64 slot;   /* sliding window: in which slot it is */
	__u64 entry;  /* sliding log: which admission it is */
	__u64 cookie; /* of no limit: challenge.h's answer, and above 32 bits the peer's MSS */
	struct {
		__u16 end; /* of the question, from the UDP header on */
		__u8 edns; /* 1: EDNS follows */
		__u8 pad[5];
	} query; /* over truncate: what is answered */
};

/* Is it established: proof.h. Stranger: no, without a socket having been looked up. Bound: no, but
 * a UDP socket of this machine waits for it. Closed: no, but its connection was closed a while ago.
 */
enum proof {
	PROOF_UNASKED,
	PROOF_WANTED,
	PROOF_STRANGER,
	PROOF_NONE,
	PROOF_BOUND,
	PROOF_CLOSED, /* with counts_connections */
	PROOF_ESTABLISHED
};

/* The fields that most packets need are first, in one cache line. */
struct packet {
	__u64 precise_ns; /* the precise clock, once it was read; 0 before */
	__u16 sport, dport;
	__u8 flags;     /* enum packet_flag */
	__u8 proto;     /* of the transport header, or the last that was reached */
	__u8 cacheable; /* 1: every packet of this address meets the same limit first: refusal.h */
	__u8 proof;     /* enum proof */
	__u8 src[16];   /* mapped */
	__u64 lookup_hash;     /* hash of the lookup address: hot.h */
	union receipt receipt; /* of the last limit_consume, for limit_refund */
	__u32 bytes;           /* on the wire, without FCS */
	__u16 transport;       /* offset of the transport header in the frame */
	__u16 payload;         /* bytes of the IP packet from there on */
	__u64 generation;      /* of the policy, where refusals may be cached: refusal.h */
	__u8 dst[16];
	__u64 key_rest; /* by hot_long_key */
	__u64 since_ns; /* 1 + when a key that comes back was first seen; 0: nothing is to be
			   entered */
	__u64 wait;     /* grains until it may leave: the longest that a limit asks for */
	__u32 segments; /* of an skb: packets on the wire */
	__u32 headers;  /* of an skb: bytes of headers that each of them has */
#if EXTENDED
	struct facts facts; /* last, so that in all objects the others are where they are */
#endif
};

_Static_assert(offsetof(struct packet, sport) == 2 * RL_WORD_SPORT &&
		       offsetof(struct packet, dport) == 2 * RL_WORD_DPORT &&
		       offsetof(struct packet, flags) == 2 * RL_WORD_KIND &&
		       offsetof(struct packet, proto) == 2 * RL_WORD_KIND + 1,
	       "conditions find them by their place");
#if EXTENDED
_Static_assert(offsetof(struct packet, facts) == 2 * RL_WORD_NUMBERS &&
		       sizeof(struct packet) >= 2 * RL_WORDS,
	       "and these");
#endif

/* No read after it is done earlier than a write before it. BPF has no instruction for that but an
 * atomic operation that returns a value: one without may be unordered (arm64). Scratch becomes 0.
 */
static __always_inline void full_barrier(__u64 *scratch)
{
	(void)__sync_lock_test_and_set(scratch, 0);
}

/* The address that the instance goes by. */
static __always_inline const __u8 *packet_lookup_address(const struct packet *p)
{
	return config.goes_by_dest ? p->dst : p->src;
}

/* The VLAN of its outer tag; 0: it has none, or no rule asks. */
static __always_inline __u16 packet_vlan(const struct packet *p)
{
#if EXTENDED
	return config.reads_vlans ? p->facts.number[RL_NUMBER_VLAN] : 0;
#else
	(void)p;
	return 0;
#endif
}

/* How many packets it is on the wire. */
static __always_inline __u32 packet_count(const struct packet *p)
{
	return config.frames_are_skbs ? p->segments : 1;
}

struct vlan_header {
	__be16 tci;
	__be16 proto;
};

/* ICMP and ICMPv6 alike: type, code, checksum and four bytes that every message has. */
struct icmp_header {
	__u8 bytes[8];
};
