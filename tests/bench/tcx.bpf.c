// SPDX-License-Identifier: GPL-2.0-only
/* Foreign programs at tcx: both count the packets that reach them; one passes them to the next
 * program, the other to the stack, so that no later program sees them.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tcx_seen SEC(".maps");

static __always_inline void count(void)
{
	__u32 zero = 0;
	__u64 *seen = bpf_map_lookup_elem(&tcx_seen, &zero);

	if (seen)
		__sync_fetch_and_add(seen, 1);
}

SEC("tc")
int alien_next(struct __sk_buff *skb)
{
	(void)skb;
	count();
	return TC_ACT_UNSPEC; /* TCX_NEXT */
}

SEC("tc")
int alien_pass(struct __sk_buff *skb)
{
	(void)skb;
	count();
	return TC_ACT_OK; /* TCX_PASS */
}

char LICENSE[] SEC("license") = "GPL";
