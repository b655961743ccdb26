/* SPDX-License-Identifier: GPL-2.0-only */
/* From a frame to the fields of a packet. Reads headers and nothing else; rlctl-policy(5) says what
 * is malformed. One cursor, one function per header.
 */
#pragma once

#include "packet/packet.h"

/* ND_TYPE: IP with an ICMPv6 type of neighbour discovery; neighbour.h says whether it is that. */
enum parse { PARSE_IP, PARSE_NON_IP, PARSE_MALFORMED, PARSE_ND_TYPE, PARSE_NEIGHBOUR };

/* struct ethhdr is packed, and would be read byte by byte. */
struct ethernet_header {
	__u16 dest[3], source[3];
	__be16 proto;
};

struct extension_header {
	__u8 next;
	__u8 len; /* in units of 8 bytes, the first not counted; AH: of 4, the first two not */
	__u8 rest[6];
};

struct fragment_header {
	__u8 next;
	__u8 reserved;
	__be16 offset;
	__be32 id;
};

struct cursor {
	void *pos;
	void *end;
	void *start;
	__u32 reach; /* no transport header begins further in; 2^n - 1 */
	bool skb;    /* a constant of each caller, which costs no instruction */
};

/* At the begin of what can be read, [data, data_end). */
static __always_inline struct cursor cursor_at(void *data, void *data_end, __u32 reach, bool skb)
{
	return (struct cursor){
		.pos = data, .end = data_end, .start = data, .reach = reach, .skb = skb};
}

/* Remembers where the cursor is, and goes on from what it remembers: through memory, so that the
 * verifier forgets which headers were before and follows the rest once. */
static __always_inline bool cursor_settle(struct cursor *c, struct packet *p)
{
	if (c->pos > c->end || c->pos - c->start > c->reach)
		return false;
	p->transport = c->pos - c->start;
	c->pos = c->start + (p->transport & c->reach);
	return true;
}

/* The header at the cursor, which moves past it; NULL when it is truncated. */
#define cursor_pull(c, type)                          \
	({                                            \
		type *header_ = (c)->pos;             \
		if ((void *)(header_ + 1) > (c)->end) \
			header_ = NULL;               \
		else                                  \
			(c)->pos = header_ + 1;       \
		header_;                              \
	})

static __always_inline bool is_vlan(__be16 proto)
{
	return proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD);
}

/* How a frame with a tag begins. The VLAN of a packet is that of its outer tag, which the network
 * in front of this machine writes; the inner one may be the choice of a sender. */
struct tagged_header {
	struct ethernet_header ethernet;
	struct vlan_header tag;
};

static __always_inline __u16 tagged_vlan(const struct tagged_header *h)
{
	return is_vlan(h->ethernet.proto) ? bpf_ntohs(h->tag.tci) & VLAN_ID : 0;
}

/* *proto becomes what follows Ethernet and its tags, of which `tags` are not in the frame. A third
 * tag is refused: an IP packet after it would reach nobody's rules. */
static __always_inline bool parse_ethernet(struct cursor *c, __be16 *proto, int tags)
{
	struct ethernet_header *eth = cursor_pull(c, struct ethernet_header);

	if (!eth)
		return false;
	*proto = eth->proto;
	if (!is_vlan(*proto))
		return true;
	for (int i = 0; i < VLAN_TAGS_MAX && i + tags < VLAN_TAGS_MAX && is_vlan(*proto); i++) {
		struct vlan_header *tag = cursor_pull(c, struct vlan_header);

		if (!tag)
			return false;
		*proto = tag->proto;
	}
	return !is_vlan(*proto);
}

static __always_inline __u64 half_of(__be32 first, __be32 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (__u64)second << 32 | first;
#else
	return (__u64)first << 32 | second;
#endif
}

/* Written in halves, as it is read: a processor waits where a load spans two younger stores. */
static __always_inline void address_map(__u8 out[16], __be32 ipv4)
{
	__u64 *halves = (__u64 *)out;

	halves[0] = 0;
	halves[1] = half_of(bpf_htonl(0xffff), ipv4);
}

static __always_inline void address_copy(__u8 out[16], const struct in6_addr *in)
{
	const __be32 *words = in->s6_addr32;
	__u64 *halves = (__u64 *)out;

	halves[0] = half_of(words[0], words[1]);
	halves[1] = half_of(words[2], words[3]);
}

static __always_inline bool parse_tcp(struct cursor *c, struct packet *p, __u32 room)
{
	struct tcphdr *tcp = cursor_pull(c, struct tcphdr);

	if (!tcp || tcp->doff < 5 || tcp->doff * 4u > room)
		return false;
	if (c->skb)
		p->headers += tcp->doff * 4u;
	p->sport = bpf_ntohs(tcp->source);
	p->dport = bpf_ntohs(tcp->dest);
	p->flags |= PACKET_PORTS;
	if (tcp->syn && !tcp->ack)
		p->flags |= PACKET_SYN;
	FACTS(p, fact->lacks = LACKS_OF_TCP, FACT(TCP_FLAGS) = flags_of_tcp(tcp));
	FACT_PAYLOAD(p, tcp->doff * 4u, room);
	return true;
}

/* The length is 0 in what is larger than it can say (BIG TCP in a UDP tunnel), before that is
 * segmented: all the rest of the packet. */
static __always_inline __u32 udp_bytes(const struct cursor *c, const struct packet *p,
				       const struct udphdr *udp, __u32 room)
{
	if ((c->skb || config.frames_are_captured) && !udp->len &&
	    p->bytes - p->transport > PACKET_BYTES_MAX)
		return room;
	return bpf_ntohs(udp->len);
}

static __always_inline bool parse_udp(struct cursor *c, struct packet *p, __u32 room)
{
	struct udphdr *udp = cursor_pull(c, struct udphdr);
	__u32 len;

	if (!udp)
		return false;
	/* The length of a datagram in fragments is that of the whole, beyond this packet. */
	len = udp_bytes(c, p, udp, room);
	if (len < sizeof(*udp) || (len > room && !(p->flags & PACKET_FRAGMENT)))
		return false;
	if (c->skb)
		p->headers += sizeof(*udp);
	p->sport = bpf_ntohs(udp->source);
	p->dport = bpf_ntohs(udp->dest);
	p->flags |= PACKET_PORTS;
	FACTS(p, fact->lacks = LACKS_OF_UDP);
	FACT_PAYLOAD(p, sizeof(*udp), len < room ? len : room);
	return true;
}

struct sctp_header {
	__be16 source, dest;
	__be32 tag, checksum;
};

static __always_inline bool parse_sctp(struct cursor *c, struct packet *p)
{
	struct sctp_header *sctp = cursor_pull(c, struct sctp_header);

	if (!sctp)
		return false;
	p->sport = bpf_ntohs(sctp->source);
	p->dport = bpf_ntohs(sctp->dest);
	p->flags |= PACKET_PORTS;
	FACTS(p, fact->lacks = LACKS_OF_SCTP);
	return true;
}

static __always_inline struct icmp_header *parse_icmp(struct cursor *c, struct packet *p)
{
	struct icmp_header *icmp = cursor_pull(c, struct icmp_header);

	if (!icmp)
		return NULL;
	FACTS(p, fact->lacks = LACKS_OF_ICMP,
	      FACT(ICMP_TYPE) = (__u16)icmp->bytes[0] << 8 | icmp->bytes[1]);
	FACT_PAYLOAD(p, sizeof(*icmp), p->payload);
	return icmp;
}

static __always_inline enum parse parse_icmpv6(struct cursor *c, struct packet *p)
{
	struct icmp_header *icmp = parse_icmp(c, p);

	if (!icmp)
		return PARSE_MALFORMED;
	return icmp->bytes[0] >= ND_FIRST && icmp->bytes[0] <= ND_LAST ? PARSE_ND_TYPE : PARSE_IP;
}

static __always_inline enum parse parsed(bool whole)
{
	return whole ? PARSE_IP : PARSE_MALFORMED;
}

/* A protocol without ports needs no more parsing. */
static __always_inline enum parse parse_transport(struct cursor *c, struct packet *p)
{
	__u32 room = p->payload;

	if (c->skb)
		p->headers = p->transport;
	FACTS(p, fact->lacks = LACKS_WITHOUT_TRANSPORT, fact->payload_bytes = 0);
	if (p->flags & PACKET_LATER)
		return PARSE_IP;
	switch (p->proto) {
	case IPPROTO_TCP:
		return parsed(room >= sizeof(struct tcphdr) && parse_tcp(c, p, room));
	case IPPROTO_UDP:
		return parsed(room >= sizeof(struct udphdr) && parse_udp(c, p, room));
	case IPPROTO_SCTP:
		return parsed(room >= sizeof(struct sctp_header) && parse_sctp(c, p));
	case IPPROTO_ICMP:
		return parsed(room >= sizeof(struct icmp_header) && parse_icmp(c, p));
	case IPPROTO_ICMPV6:
		return room >= sizeof(struct icmp_header) ? parse_icmpv6(c, p) : PARSE_MALFORMED;
	}
	return PARSE_IP;
}

/* The length of a packet whose header says 0, as it may before it is segmented; 0 where that is no
 * length. Linux says so of packets that are larger than the header can say (BIG TCP), other systems
 * of every IPv4 packet that their device is to segment: in a capture each counts that is longer
 * than Ethernet carries. `room` is as below, `most` what the packet fits in otherwise. */
static __always_inline __u32 unstated_bytes(const struct cursor *c, __u32 room, __u32 most)
{
	if (c->skb)
		return room > PACKET_BYTES_MAX ? room : 0;
	if (!config.frames_are_captured || room <= most)
		return 0;
	return room < PACKET_BYTES_MAX ? room : PACKET_BYTES_MAX;
}

static __always_inline __u16 payload_of(const struct cursor *c, __u32 len)
{
	if (!c->skb)
		return len;
	return len > PACKET_BYTES_MAX ? PACKET_BYTES_MAX : len;
}

/* Both IP parsers get in `room` the bytes of the frame from the IP header on, and leave the cursor
 * at the transport header; false is malformed. */
static __always_inline bool parse_ipv4(struct cursor *c, struct packet *p, __u32 room)
{
	struct iphdr *ip = cursor_pull(c, struct iphdr);
	__u32 len, header;

	if (!ip || ip->version != 4 || ip->ihl < 5)
		return false;
	header = ip->ihl * 4;
	len = bpf_ntohs(ip->tot_len);
	if (!len) { /* apart from the other lengths, or the verifier of 6.1 loses its way */
		len = unstated_bytes(c, room, ETH_DATA_LEN);
		if (!len)
			return false;
	}
	if (len < header || len > room)
		return false;
	c->pos = (void *)ip + header;
	p->flags = PACKET_IPV4;
	if (ip->frag_off & bpf_htons(IPV4_OFFSET_MASK | IPV4_MORE))
		p->flags |= PACKET_FRAGMENT;
	if (ip->frag_off & bpf_htons(IPV4_OFFSET_MASK))
		p->flags |= PACKET_LATER;
	p->proto = ip->protocol;
	address_map(p->src, ip->saddr);
	address_map(p->dst, ip->daddr);
	p->payload = payload_of(c, len - header);
	FACTS(p, FACT(LENGTH) = len > PACKET_BYTES_MAX ? PACKET_BYTES_MAX : len,
	      FACT(TTL) = ip->ttl, FACT(DSCP) = ip->tos >> 2);
	return true;
}

static __always_inline bool is_extension(__u8 proto)
{
	switch (proto) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_DSTOPTS:
	case IPPROTO_AH:
	case IPPROTO_MOBILITY:
	case IPPROTO_HIP:
	case IPPROTO_SHIM6:
		return true;
	}
	return false;
}

/* Moves past one extension header. */
static __always_inline bool parse_extension(struct cursor *c, struct packet *p)
{
	struct extension_header *ext = cursor_pull(c, struct extension_header);
	__u32 len;

	if (!ext)
		return false;
	len = ((__u32)ext->len + 1) * 8;
	if (p->proto == IPPROTO_AH) {
		len = ((__u32)ext->len + 2) * 4;
	} else if (p->proto == IPPROTO_FRAGMENT) {
		__u16 offset = bpf_ntohs(((struct fragment_header *)ext)->offset);

		len = sizeof(struct fragment_header);
		if (offset & (IPV6_OFFSET_MASK | IPV6_MORE))
			p->flags |= PACKET_FRAGMENT;
		if (offset & IPV6_OFFSET_MASK)
			p->flags |= PACKET_LATER;
	}
	p->flags |= PACKET_EXTENDED;
	p->proto = ext->next;
	asm volatile("" ::: "memory"); /* the verifier forgets which header it was */
	c->pos = (void *)ext + len;
	return cursor_settle(c, p);
}

static __always_inline bool parse_ipv6(struct cursor *c, struct packet *p, __u32 room)
{
	struct ipv6hdr *ip = cursor_pull(c, struct ipv6hdr);
	__u32 payload, start, extensions;

	if (!ip || ip->version != 6)
		return false;
	payload = bpf_ntohs(ip->payload_len);
	if (!payload)
		payload = unstated_bytes(c, room - sizeof(*ip), PACKET_BYTES_MAX);
	if (sizeof(*ip) + payload > room)
		return false;
	address_copy(p->src, &ip->saddr);
	address_copy(p->dst, &ip->daddr);
	/* Linux drops such sources too (commit 6af1799aaf3f); here they would meet IPv4's rules. */
	if (address_is_mapped((const __u64 *)p->src) || address_is_mapped((const __u64 *)p->dst))
		return false;
	p->proto = ip->nexthdr;
	FACTS(p,
	      FACT(LENGTH) = sizeof(*ip) + payload > PACKET_BYTES_MAX ? PACKET_BYTES_MAX
								      : sizeof(*ip) + payload,
	      FACT(TTL) = ip->hop_limit, FACT(DSCP) = dscp_of_ipv6(ip));
	start = c->pos - c->start;
	if (!cursor_settle(c, p))
		return false;
	/* Linux delivers longer chains, after which no rule would see protocol or ports. */
	for (int i = 0; is_extension(p->proto) && !(p->flags & PACKET_LATER); i++)
		if (i == EXTENSIONS_MAX || !parse_extension(c, p))
			return false;
	extensions = p->transport - start;
	if (extensions > payload)
		return false;
	p->payload = payload_of(c, payload - extensions);
	return true;
}

/* From the IP header on, where the cursor is. */
static __always_inline enum parse packet_parse_ip(struct packet *p, struct cursor *c, __be16 proto,
						  __u32 room)
{
	bool whole;

	FACTS(p, fact->network = c->pos - c->start, fact->room = room);
	if (proto == bpf_htons(ETH_P_IP))
		whole = parse_ipv4(c, p, room);
	else if (proto == bpf_htons(ETH_P_IPV6))
		whole = parse_ipv6(c, p, room);
	else
		return PARSE_NON_IP;
	if (!whole || !cursor_settle(c, p))
		return PARSE_MALFORMED;
	return parse_transport(c, p);
}

/* `bytes` is the length of the whole frame, which begins at the cursor; `tags` are VLAN tags that
 * were taken out of it. */
static __always_inline enum parse packet_parse(struct packet *p, struct cursor c, __u32 bytes,
					       int tags)
{
	__be16 proto;

	p->bytes = bytes;
	if (!parse_ethernet(&c, &proto, tags))
		return PARSE_MALFORMED;
	return packet_parse_ip(p, &c, proto, bytes - (__u32)(c.pos - c.start));
}
