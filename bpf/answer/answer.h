/* SPDX-License-Identifier: GPL-2.0-only */
/* An answer that the program sends itself, made of the frame that it answers: `over challenge`
 * (challenge.h) and `over truncate`. Whether a packet is answered is decided with the other limits;
 * the frame is turned around at the very end, after the counters and whoever watches.
 *
 * All answers of an instance are held to one rate, in the map answers. Its first element is the
 * bucket that all CPUs share (algorithm/gcra.h), the last are what each CPU took of it: it takes
 * answers_batch at once, and what it did not use within ANSWERS_NS lapses. So bucket and batches
 * together never send more than rate × time and an eightieth of a second's worth.
 */
#pragma once

#include "algorithm/gcra.h"
#include "clock.h"
#include "limit/counters.h"
#include "limit/state.h"
#include "packet/xdp.h"

#define ANSWERS_NS     8000000 /* two ticks of the slowest common tick clock */
#define ANSWER_TTL     64
#define LINK_BYTES_MAX (ETH_HLEN + VLAN_TAGS_MAX * sizeof(struct vlan_header))
#define ETHERNET_GROUP bpf_htons(0x0100) /* in an address */
#define ANSWER_AT      63 /* no transport header of an answer begins further in; 2^n - 1 */
_Static_assert(LINK_BYTES_MAX + sizeof(struct ipv6hdr) <= ANSWER_AT, "the headers before it");

/* ---- the rate */

static __always_inline struct rl_answers *answers_of_cpu(void)
{
	__u32 index = RL_ANSWERS_CPUS + counters_cpu();

	return bpf_map_lookup_elem(&answers, &index);
}

static __always_inline struct rl_gcra gcra_constant(const volatile struct rl_gcra *from)
{
	return (struct rl_gcra){
		.capacity = from->capacity,
		.cost = from->cost,
		.cost_shift = from->cost_shift,
		.cost_max = from->cost_max,
	};
}

/* May one more be sent? */
__noinline int answer_take(struct packet *p)
{
	const struct rl_gcra rate = gcra_constant(&config.answers_rate);
	struct rl_answers *all, *own;
	__u64 taken;

	if (!p)
		return 0;
	all = only(&answers);
	own = answers_of_cpu();
	if (!all || !own)
		return 0;
	if (own->left && clock_tick() - own->since_ns < ANSWERS_NS) {
		own->left--;
		return 1;
	}
	if (!gcra_consume(&rate, &all->word, gcra_now(clock_precise(p)), config.answers_batch,
			  &taken))
		return 0;
	own->since_ns = clock_tick();
	own->left = config.answers_batch - 1;
	return 1;
}

/* Gives back what answer_take took: nothing was sent. No other packet of this CPU came between. */
static __always_inline void answer_return(void)
{
	struct rl_answers *own = answers_of_cpu();

	if (own)
		own->left++;
}

/* ---- who may be answered */

/* Is it an address that one host has, other than this machine within itself? */
static __always_inline bool address_is_host(const struct packet *p, const __u8 addr[16])
{
	const __u64 *halves = (const __u64 *)addr;

	if (p->flags & PACKET_IPV4)
		return addr[12] && addr[12] != 127 && addr[12] < 224;
	return addr[0] != 0xff && halves[0]; /* ::, ::1 and their like */
}

/* A link may carry frames to other hosts here: a hub, or a bridge that floods. The device's own
 * addresses are known to the map, and those of a bridge, bond or macvlan on top of it. */
static __always_inline bool is_own_address(const __u16 dest[3])
{
	__u64 word = rl_answer_address(dest);
	__u32 index = RL_ANSWERS_ADDRESSES;
	struct rl_answers *own = bpf_map_lookup_elem(&answers, &index);

	if (!own)
		return false;
	for (int i = 0; i < RL_ANSWER_ADDRESS_MAX; i++)
		if (word && own->address[i] == word)
			return true;
	return !own->address[0];
}

/* Is the frame one to this device alone and from one host, and all of it where it can be written in
 * place? */
static __always_inline bool frame_may_turn(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct ethernet_header *eth = data;

	if ((void *)(eth + 1) > end || bpf_xdp_get_buff_len(ctx) != end - data)
		return false;
	if (eth->dest[0] & ETHERNET_GROUP || eth->source[0] & ETHERNET_GROUP)
		return false;
	return is_own_address(eth->dest);
}

/* Can there be an answer? There can to a whole TCP or UDP packet from one host to another. */
static __always_inline bool answer_may(struct xdp_md *ctx, const struct packet *p)
{
	const __u64 *src = (const __u64 *)p->src, *dst = (const __u64 *)p->dst;

	if (p->flags & (PACKET_FRAGMENT | PACKET_EXTENDED) || !p->sport || !p->dport)
		return false;
	return address_is_host(p, p->src) && address_is_host(p, p->dst) &&
	       (src[0] ^ dst[0]) | (src[1] ^ dst[1]) && frame_may_turn(ctx);
}

/* ---- the frame */

/* Where the IP header begins; 0: not found. */
static __always_inline __u32 network_find(struct xdp_md *ctx)
{
	struct cursor c = xdp_cursor(ctx);
	__be16 proto;

	return parse_ethernet(&c, &proto, 0) ? c.pos - c.start : 0;
}

/* Takes IPv4's options out of the frame: what is before them moves. The bounds are asked for as in
 * watch.h. */
__noinline int options_cut(struct xdp_md *ctx, __u64 network, __u32 bytes)
{
	__u8 link[LINK_BYTES_MAX] = {};

	if (network < ETH_HLEN)
		return 0;
	barrier_var(network);
	if (network > LINK_BYTES_MAX)
		return 0;
	barrier_var(network);
	return !bpf_xdp_load_bytes(ctx, 0, link, network) && !bpf_xdp_adjust_head(ctx, bytes) &&
	       !bpf_xdp_store_bytes(ctx, 0, link, network);
}

static __always_inline __u16 sum_fold(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

/* The addresses, protocol and length that a checksum of TCP or UDP counts besides. */
static __always_inline __u64 sum_pseudo_header(const struct packet *p, __u32 payload)
{
	const __be32 *src = (const __be32 *)p->src, *dst = (const __be32 *)p->dst;
	__u64 sum = (__u64)bpf_htonl(payload) + bpf_htonl(p->proto) + src[3] + dst[3];

	if (p->flags & PACKET_IPV4) /* the rest of a mapped address is no part of it */
		return sum;
	return sum + src[0] + src[1] + src[2] + dst[0] + dst[1] + dst[2];
}

/* Both write the IP header anew, which ends at p->transport. Apart, with sizes that do not vary:
 * the verifier of 6.1 follows no others. */
static __always_inline bool ipv4_turn(void *data, void *end, const struct packet *p, __u32 payload)
{
	struct iphdr *ip = data + ((READ_ONCE(p->transport) - sizeof(*ip)) & ANSWER_AT);
	const __be32 *words = (const __be32 *)ip;
	__u64 sum = 0;

	if ((void *)(ip + 1) > end)
		return false;
	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tot_len = bpf_htons(sizeof(*ip) + payload),
		.frag_off = bpf_htons(0x4000), /* do not fragment: no id is needed */
		.ttl = ANSWER_TTL,
		.protocol = p->proto,
		.saddr = ((const __be32 *)p->dst)[3],
		.daddr = ((const __be32 *)p->src)[3],
	};
	for (__u32 i = 0; i < sizeof(*ip) / 4; i++)
		sum += words[i];
	ip->check = ~sum_fold(sum);
	return true;
}

static __always_inline bool ipv6_turn(void *data, void *end, const struct packet *p, __u32 payload)
{
	struct ipv6hdr *ip = data + ((READ_ONCE(p->transport) - sizeof(*ip)) & ANSWER_AT);

	if ((void *)(ip + 1) > end)
		return false;
	*ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = bpf_htons(payload),
		.nexthdr = p->proto,
		.hop_limit = ANSWER_TTL,
	};
	__builtin_memcpy(&ip->saddr, p->dst, sizeof(ip->saddr));
	__builtin_memcpy(&ip->daddr, p->src, sizeof(ip->daddr));
	return true;
}

static __always_inline bool link_turn(void *data, void *end)
{
	struct ethernet_header *eth = data;

	if ((void *)(eth + 1) > end)
		return false;
	for (int i = 0; i < 3; i++) {
		__u16 dest = eth->dest[i];

		eth->dest[i] = eth->source[i];
		eth->source[i] = dest;
	}
	return true;
}

static __always_inline bool ports_turn(void *data, void *end, const struct packet *p)
{
	__be16 *ports = data + (READ_ONCE(p->transport) & ANSWER_AT);

	if ((void *)(ports + 2) > end)
		return false;
	ports[0] = bpf_htons(p->dport);
	ports[1] = bpf_htons(p->sport);
	return true;
}

/* Swaps both ends. */
static __always_inline bool headers_turn(struct xdp_md *ctx, const struct packet *p, __u32 payload)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!link_turn(data, end) || !ports_turn(data, end, p))
		return false;
	return p->flags & PACKET_IPV4 ? ipv4_turn(data, end, p, payload)
				      : ipv6_turn(data, end, p, payload);
}

/* The frame becomes so long; then its headers are in place. Nothing is cut off from the least that
 * Ethernet carries: not every device pads what a program sends. */
static __always_inline bool frame_resize(struct xdp_md *ctx, __u32 bytes)
{
	__u32 had = bpf_xdp_get_buff_len(ctx), least = had < ETH_ZLEN ? had : ETH_ZLEN;

	return !bpf_xdp_adjust_tail(ctx, (int)(bytes > least ? bytes : least) - (int)had);
}

/* Turns the frame into a reply with so many bytes from the transport header on:
 * ends, lengths and the IP checksum are right, the ports are swapped, and IPv4's options are gone.
 * The caller writes the rest: it begins at p->transport, which is within ANSWER_AT. 0: it could not
 * be done, and the frame is unusable. */
__noinline int answer_turn(struct xdp_md *ctx, struct packet *p, __u32 payload)
{
	__u32 network = network_find(ctx), size, options;

	if (!p || network < ETH_HLEN || network > LINK_BYTES_MAX)
		return 0;
	size = p->flags & PACKET_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	options = p->transport - network - size;
	if (options && !options_cut(ctx, network, options))
		return 0;
	p->transport = network + size;
	return frame_resize(ctx, network + size + payload) && headers_turn(ctx, p, payload);
}
