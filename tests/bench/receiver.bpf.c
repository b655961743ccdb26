// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of receiver: the least an XDP program can do with a packet, with and without a
 * count. They are the baseline that a limiter is compared with.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct count {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

static __always_inline void packet_count(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct count *count = bpf_map_lookup_elem(&counts, &key);

	if (!count)
		return;
	count->packets++;
	count->bytes += ctx->data_end - ctx->data;
}

SEC("xdp")
int receiver_bare(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp")
int receiver_drop(struct xdp_md *ctx)
{
	packet_count(ctx);
	return XDP_DROP;
}

SEC("xdp")
int receiver_pass(struct xdp_md *ctx)
{
	packet_count(ctx);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
