/* SPDX-License-Identifier: GPL-2.0-only */
/* over truncate: a DNS query over UDP (RFC 1035, 6891) that is over the limit is answered with an
 * empty answer that is truncated, so that a resolver asks again by TCP, which a forged source
 * cannot. Only a query that is well-formed, with one question and nothing after it but EDNS, is
 * answered, and never with more bytes than it has: the answer is the query without the options of
 * EDNS. rlctl-policy(5).
 *
 * Two queries are never answered, since two machines could answer each other without end: those
 * that are answers (QR), and those from port 53 or 0.
 */
#pragma once

#include "answer/answer.h"

#define DNS_PORT       53
#define DNS_LABEL_MAX  63  /* longer ones are pointers */
#define DNS_NAME_MAX   255 /* bytes, with the root's */
#define DNS_LABELS_MAX (DNS_NAME_MAX / 2 + 1)
#define DNS_TYPE_CLASS 4 /* bytes after the name */
#define DNS_TYPE_OPT   41
#define DNS_UDP_SIZE   1232 /* bytes of an answer over UDP that no path is too narrow for */

#define DNS_QR         0x80 /* of struct dns_header, flags */
#define DNS_OPCODE     0x78
#define DNS_TC         0x02
#define DNS_RD         0x01
#define DNS_RA         0x80 /* codes */
#define DNS_CD         0x10
#define EDNS_DO        0x8000

struct dns_header {
	__be16 id;
	__u8 flags, codes;
	__be16 questions, answers, authorities, additionals;
};

struct dns_query {
	struct udphdr udp;
	struct dns_header dns;
};

/* EDNS; its name, the root, is one byte. */
struct dns_opt {
	__u8 name;
	__be16 type, size;
	__u8 code, version;
	__be16 flags, length;
} __attribute__((packed));

/* All of a query that its answer has, and what the checksum reads beyond. */
#define QUERY_BYTES_MAX \
	(sizeof(struct dns_query) + DNS_NAME_MAX + DNS_TYPE_CLASS + sizeof(struct dns_opt))
#define QUERY_MASK 0x1ff
_Static_assert(QUERY_BYTES_MAX <= QUERY_MASK, "a place in a query");
_Static_assert(QUERY_MASK + sizeof(struct dns_query) <= RL_HEADERS_SIZE(RL_HEADERS_REACH_SMALL),
	       "room for a copy of it");

/* The first bytes of the datagram, `bytes` of them; NULL: they cannot be had. Bounds as in xdp.h.
 */
static __always_inline struct dns_query *query_copy(struct xdp_md *ctx, const struct packet *p,
						    __u64 bytes)
{
	struct dns_query *query = only(&headers);

	barrier_var(bytes);
	if (!query || bytes < sizeof(*query) || bytes > QUERY_BYTES_MAX)
		return NULL;
	return bpf_xdp_load_bytes(ctx, p->transport, query, bytes) ? NULL : query;
}

/* The part of the query from there on. The compiler is not to know that `at` is small enough: it
 * would leave out what the verifier of 6.1 learns it from. */
static __always_inline void *query_at(struct dns_query *query, __u64 at)
{
	barrier_var(at);
	return (void *)query + (at & QUERY_MASK);
}

/* Moves p->receipt.query.end past a name; false: there is none. Where it is, is kept in memory, so
 * that the verifier follows what comes after a name once, and not for each number of labels. */
static __always_inline bool query_pass_name(struct packet *p, struct dns_query *query, __u32 bytes)
{
	volatile __u16 *end = &p->receipt.query.end;

	for (int i = 0; i < DNS_LABELS_MAX; i++) {
		__u32 at = *end;
		__u8 len;

		if (at >= bytes)
			return false;
		len = *(__u8 *)query_at(query, at);
		*end = at + 1 + len;
		if (!len)
			return at + 1 <= sizeof(*query) + DNS_NAME_MAX;
		if (len > DNS_LABEL_MAX)
			return false;
	}
	return false;
}

static __always_inline bool query_header_holds(const struct dns_header *dns)
{
	return !(dns->flags & (DNS_QR | DNS_OPCODE | DNS_TC)) && dns->questions == bpf_htons(1) &&
	       !dns->answers && !dns->authorities && bpf_ntohs(dns->additionals) <= 1;
}

/* Is `bytes` of the query one question, and EDNS or nothing? Then p->receipt says where the
 * question ends. */
static __always_inline bool query_holds(struct packet *p, struct dns_query *query, __u32 bytes)
{
	__u32 whole = bpf_ntohs(query->udp.len), end;
	struct dns_opt *opt;

	if (!query_header_holds(&query->dns))
		return false;
	p->receipt.query.end = sizeof(*query);
	if (!query_pass_name(p, query, bytes))
		return false;
	end = READ_ONCE(p->receipt.query.end) + DNS_TYPE_CLASS;
	p->receipt.query.end = end;
	p->receipt.query.edns = !!query->dns.additionals;
	if (!query->dns.additionals)
		return end == whole;
	if (end + sizeof(*opt) > bytes)
		return false;
	opt = query_at(query, end);
	return !opt->name && opt->type == bpf_htons(DNS_TYPE_OPT) &&
	       end + sizeof(*opt) + bpf_ntohs(opt->length) == whole;
}

/* ---- is it answered? */

/* Is the packet a query that can be answered? Then p->receipt.query says what of it the answer has.
 */
__noinline int query_find(struct xdp_md *ctx, struct packet *p)
{
	struct dns_query *query;
	__u32 bytes;

	if (!config.truncates || !p || p->proto != IPPROTO_UDP || p->sport == DNS_PORT ||
	    !answer_may(ctx, p))
		return 0;
	bytes = p->payload < QUERY_BYTES_MAX ? p->payload : QUERY_BYTES_MAX;
	query = query_copy(ctx, p, bytes);
	return query && query_holds(p, query, bytes);
}

/* ---- the answer */

/* RA as RD: without it and without AA some resolvers ask another server, and not by TCP. */
static __always_inline void dns_answer(struct dns_header *dns)
{
	dns->codes = (dns->codes & DNS_CD) | (dns->flags & DNS_RD ? DNS_RA : 0);
	dns->flags = DNS_QR | DNS_TC | (dns->flags & DNS_RD);
}

static __always_inline void opt_answer(struct dns_opt *opt)
{
	opt->size = bpf_htons(DNS_UDP_SIZE);
	opt->code = 0;
	opt->version = 0;
	opt->flags &= bpf_htons(EDNS_DO);
	opt->length = 0;
}

/* The datagram's checksum; what is after it up to whole words becomes 0. */
static __always_inline __be16 answer_checksum(struct dns_query *query, const struct packet *p,
					      __u64 bytes)
{
	__u64 sum = sum_pseudo_header(p, bytes);
	__u16 check;

	__builtin_memset(query_at(query, bytes), 0, 3);
	barrier_var(bytes);
	sum += (__u32)bpf_csum_diff(NULL, 0, (__be32 *)query, ((bytes & QUERY_MASK) + 3) & ~3ul, 0);
	check = ~sum_fold(sum);
	return check ?: 0xffff;
}

static __always_inline void udp_answer(struct dns_query *query, const struct packet *p, __u32 bytes)
{
	query->udp.source = bpf_htons(p->dport);
	query->udp.dest = bpf_htons(p->sport);
	query->udp.len = bpf_htons(bytes);
	query->udp.check = 0;
	query->udp.check = answer_checksum(query, p, bytes);
}

/* Puts a datagram; 0: not done. Bounds as for query_copy. */
static __always_inline int query_put(struct xdp_md *ctx, const struct packet *p,
				     struct dns_query *query, __u64 bytes)
{
	barrier_var(bytes);
	if (bytes < sizeof(*query) || bytes > QUERY_BYTES_MAX)
		return 0;
	return !bpf_xdp_store_bytes(ctx, p->transport, query, bytes);
}

/* Makes of the frame the answer to its query, as query_find found it. 0: the frame is good for
 * nothing. */
__noinline int query_truncate(struct xdp_md *ctx, struct packet *p)
{
	struct dns_query *query;
	__u32 bytes;

	if (!config.truncates || !p)
		return 0;
	bytes = p->receipt.query.end + (p->receipt.query.edns ? sizeof(struct dns_opt) : 0);
	query = query_copy(ctx, p, bytes);
	if (!query)
		return 0;
	dns_answer(&query->dns);
	if (p->receipt.query.edns)
		opt_answer(query_at(query, p->receipt.query.end));
	udp_answer(query, p, bytes);
	return answer_turn(ctx, p, bytes) && query_put(ctx, p, query, bytes);
}
