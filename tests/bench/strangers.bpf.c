// SPDX-License-Identifier: GPL-2.0
/*
 * strangers: gives the packet a random source and goes on in the next program, by a tail call. The
 * other programs stand there in place of a limiter: one that only drops, and what a limiter does at
 * least that remembers refused sources or asks for a packet's socket. They write to no map.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* 1 MiB and 64 KiB. */
enum { SETS = 32768, FILTER_WORDS = 8192 };

const volatile __u32 first_source = 0, source_mask = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

struct set {
	__u64 word[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SETS);
	__type(key, __u32);
	__type(value, struct set);
} sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} filter SEC(".maps");

static __always_inline struct iphdr *ipv4(const struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);

	return (void *)(ip + 1) + sizeof(struct udphdr) > end ? NULL : ip;
}

SEC("xdp.frags")
int strangers(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);

	if (!ip)
		return XDP_ABORTED;
	ip->saddr = bpf_htonl(first_source | (bpf_get_prandom_u32() & source_mask));
	bpf_tail_call(ctx, &next, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int bare(struct xdp_md *ctx)
{
	return XDP_DROP;
}

static __always_inline __u64 hash(__u32 source)
{
	return source * 0x9e3779b97f4a7c15ULL;
}

static __always_inline bool set_holds(__u64 key)
{
	__u32 index = key >> 40 & (SETS - 1);
	const struct set *set = bpf_map_lookup_elem(&sets, &index);

	return !set || set->word[0] == key || set->word[1] == key || set->word[2] == key ||
	       set->word[3] == key;
}

static __always_inline bool filter_holds(__u64 key)
{
	__u32 index = key >> 20 & (FILTER_WORDS - 1);
	const __u64 *word = bpf_map_lookup_elem(&filter, &index);

	return !word || *word >> (key & 63) & 1;
}

SEC("xdp.frags")
int line(struct xdp_md *ctx)
{
	const struct iphdr *ip = ipv4(ctx);

	return !ip || set_holds(hash(ip->saddr)) ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp.frags")
int line_filter(struct xdp_md *ctx)
{
	const struct iphdr *ip = ipv4(ctx);
	__u64 key = ip ? hash(ip->saddr) : 0;

	return !ip || set_holds(key) || filter_holds(key) ? XDP_ABORTED : XDP_DROP;
}

static __always_inline bool tuple_of(const struct xdp_md *ctx, struct bpf_sock_tuple *tuple)
{
	const struct iphdr *ip = ipv4(ctx);
	const struct udphdr *ports = (const void *)(ip + 1);

	if (!ip)
		return false;
	tuple->ipv4.saddr = ip->saddr;
	tuple->ipv4.daddr = ip->daddr;
	tuple->ipv4.sport = ports->source;
	tuple->ipv4.dport = ports->dest;
	return true;
}

SEC("xdp.frags")
int look_up_udp(struct xdp_md *ctx)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sk;

	if (!tuple_of(ctx, &tuple))
		return XDP_ABORTED;
	sk = bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	if (sk)
		bpf_sk_release(sk);
	return XDP_DROP;
}

SEC("xdp.frags")
int look_up_tcp(struct xdp_md *ctx)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sk;

	if (!tuple_of(ctx, &tuple))
		return XDP_ABORTED;
	sk = bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	if (sk)
		bpf_sk_release(sk);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
