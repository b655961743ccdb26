// SPDX-License-Identifier: GPL-2.0-only
/* A tc filter of somebody else's: counts the packets that come to it, and lets the next filter have
 * them.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} filter_seen SEC(".maps");

SEC("tc")
int filter_count(struct __sk_buff *skb)
{
	__u64 *seen;
	__u32 zero = 0;

	(void)skb;
	seen = bpf_map_lookup_elem(&filter_seen, &zero);
	if (seen)
		__sync_fetch_and_add(seen, 1);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
