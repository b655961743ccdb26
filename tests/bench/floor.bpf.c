// SPDX-License-Identifier: GPL-2.0
/*
 * The floor under any limiter that keys by source: parse to the IPv4 address, look it up in an LRU
 * map, done. floor.c puts the keys in; the programs never do. floor_empty is what a call itself
 * costs.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile int verdict = XDP_DROP;

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

SEC("xdp")
int floor_empty(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
