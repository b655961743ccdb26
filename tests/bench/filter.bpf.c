// SPDX-License-Identifier: GPL-2.0-only
/* A tc filter of another program: counts the IPv4 packets that reach it and passes all to the next
 * filter. Multicast listener reports, which a device sends when it likes, are IPv6.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
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

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	seen = bpf_map_lookup_elem(&filter_seen, &zero);
	if (seen)
		__sync_fetch_and_add(seen, 1);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
