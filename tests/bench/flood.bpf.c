// SPDX-License-Identifier: GPL-2.0
/*
 * The frame maker of flood: run through BPF_PROG_TEST_RUN with live frames, it writes the headers
 * of every frame anew and redirects it into one device. It knows no protocol: flood.c says in
 * read-only data which bytes change, and what the checksums are without them.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define HEAD_WORDS 10 /* Ethernet + IPv6 + TCP is 74 bytes */

const volatile __u32 target_ifindex;

/* The first head_bytes (60..80) of a frame; head_tail is their last eight, since pages come back as
 * the receiver left them and 60 is no multiple of 8. */
const volatile __u64 head[HEAD_WORDS];
const volatile __u64 head_tail;
const volatile __u32 head_bytes;

/* The source is base | (number & mask), as numbers in host order; IPv4 lies in the low 32 bits. */
const volatile bool ipv6;
const volatile __u64 base_hi, base_lo, mask_hi, mask_lo;
const volatile bool sequential;
const volatile __u64 stride;
const volatile bool random_port;

/* Where the checksums are (0: that one does not change), and their sums without the changing words.
 */
const volatile __u32 ip_check_at, l4_check_at;
const volatile __u32 ip_sum, l4_sum;
const volatile __u32 source_at, port_at;

/* Each generator thread loads its own copy of this object, so nothing here is shared. */
__u64 position, random_state;
__u64 made;

/* With grain_ns: how many frames were made in each so many nanoseconds from timeline_begin_ns on
 * (CLOCK_MONOTONIC), and how many after its end. */
const volatile __u32 grain_ns;
const volatile __u64 timeline_begin_ns;
__u64 untimed;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* flood.c makes it longer where it is wanted */
	__type(key, __u32);
	__type(value, __u64);
} timeline SEC(".maps");

static __always_inline __u64 random_next(void)
{
	/* splitmix64, Sebastiano Vigna, public domain */
	__u64 z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static __always_inline __u64 number_next(void)
{
	__u64 now = position;

	if (!sequential)
		return random_next();
	position += stride;
	return now;
}

static __always_inline __u16 sum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static __always_inline void head_write(void *data, __u32 bytes)
{
	__u64 *to = data;

#pragma unroll
	for (int i = 0; i < HEAD_WORDS; i++)
		if (8 * i + 8 <= bytes)
			to[i] = head[i];
	*(__u64 *)(data + bytes - 8) = head_tail;
}

/* Writes the next source and returns the sum of its words. */
static __always_inline __u64 source_write(void *data)
{
	__u64 low = base_lo, high = base_hi;
	__u32 *to = data + source_at;

	if (mask_lo)
		low |= number_next() & mask_lo;
	if (!ipv6) {
		to[0] = bpf_htonl((__u32)low);
		return to[0];
	}
	if (mask_hi)
		high |= number_next() & mask_hi;
	to[0] = bpf_htonl((__u32)(high >> 32));
	to[1] = bpf_htonl((__u32)high);
	to[2] = bpf_htonl((__u32)(low >> 32));
	to[3] = bpf_htonl((__u32)low);
	return (__u64)to[0] + to[1] + to[2] + to[3];
}

static __always_inline __u16 port_write(void *data)
{
	__u16 *port = data + port_at;

	*port = bpf_htons(1024 + (__u32)random_next() % (65536 - 1024));
	return *port;
}

static __always_inline void timeline_count(void)
{
	__u32 grain = (bpf_ktime_get_ns() - timeline_begin_ns) / grain_ns;
	__u64 *frames = bpf_map_lookup_elem(&timeline, &grain);

	if (frames)
		++*frames;
	else
		untimed++;
}

SEC("xdp")
int flood_frame(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = head_bytes;
	__u64 sum;

	if (data + bytes > end)
		return XDP_DROP;
	head_write(data, bytes);
	sum = source_write(data);
	if (ip_check_at)
		*(__u16 *)(data + ip_check_at) = sum_fold(sum + ip_sum);
	if (random_port)
		sum += port_write(data);
	if (l4_check_at) /* 0 would mean "no checksum" to UDP; 0xffff is the same number to all */
		*(__u16 *)(data + l4_check_at) = sum_fold(sum + l4_sum) ?: 0xffff;
	made++;
	if (grain_ns)
		timeline_count();
	return bpf_redirect(target_ifindex, 0);
}

char _license[] SEC("license") = "GPL";
