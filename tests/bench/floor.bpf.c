// SPDX-License-Identifier: GPL-2.0
/*
 * The floors under any limiter that keys by source: parse to the address, then look it up in an
 * LRU map (floor_lookup, IPv4 only), or read the one cache line of an array that its hash says
 * (floor_line). floor.c puts the keys in; the programs write to no map. floor_empty is what a call
 * itself costs.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile int verdict = XDP_DROP;
const volatile __u32 line_mask = 0; /* lines of the array - 1 */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 262144); /* as many as rlctl's by default */
	__type(key, __u32);
	__type(value, __u64);
} keys SEC(".maps");

SEC("xdp")
int floor_lookup(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__u32 source;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	source = ip->saddr;
	return bpf_map_lookup_elem(&keys, &source) ? verdict : XDP_ABORTED;
}

struct line {
	__u64 word[8];
};

/* Elements of an array that can be mapped begin where pages do: each is one line of memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* floor.c sets how many */
	__type(key, __u32);
	__type(value, struct line);
} lines SEC(".maps");

/* The line itself decides, so that no processor drops the packet before it is there. */
static __always_inline int line_read(__u64 source)
{
	__u32 index = source * 0x9e3779b97f4a7c15ULL >> 32 & line_mask;
	const volatile struct line *line = bpf_map_lookup_elem(&lines, &index);

	return line && !line->word[0] ? verdict : XDP_ABORTED;
}

SEC("xdp")
int floor_line(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return line_read(ip->saddr);
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || (void *)(ip6 + 1) > end)
		return XDP_PASS;
	return line_read((__u64)ip6->saddr.s6_addr32[0] << 32 | ip6->saddr.s6_addr32[1]);
}

SEC("xdp")
int floor_empty(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
