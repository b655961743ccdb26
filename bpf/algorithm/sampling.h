/* SPDX-License-Identifier: GPL-2.0-only */
/* Which packets of a stream are handed over to the watcher, who makes samples of them. Pure;
 * compiles for BPF and for the host.
 *
 * Time is cut into slots. Each packet draws a random tag, and the sample of a slot is the packets
 * with the smallest tags of all CPUs: as bottom-k sampling has it (E. Cohen, H. Kaplan:
 * "Summarizing Data using Bottom-k Sketches", 2007), each set of k packets is as likely as any
 * other. So no source has more of the samples than of the packets, on average; the samples are
 * spread over the slots, whatever the rate is and however it changes; and nothing has to be known
 * of the rate before.
 *
 * A CPU knows only its own packets, and not how many are to come. It hands over the n-th of a slot
 * if its tag, as a part of one, is under keep / n: that holds for every packet which could still be
 * among the `keep` smallest. Those are keep * (1 + ln(n / keep)) in a slot of n packets. The
 * watcher knows all CPUs' packets, and lowers the ceiling where it is sent more than it needs.
 *
 * Nothing here is written by two CPUs.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

/* The slot of this time begins on this CPU. */
static __always_inline void sampling_turn(const struct rl_stream *s, struct rl_watch_count *c,
					  __u64 now_ns)
{
	__u64 since_ns = now_ns > s->begin_ns ? now_ns - s->begin_ns : 0;
	__u64 slot = since_ns / s->slot_ns;

	WRITE_ONCE(c->before, c->now);
	WRITE_ONCE(c->now, slot << 32);
	c->slot_end_ns = s->begin_ns + (slot + 1) * s->slot_ns;
}

/* Counts a packet of the stream. Is it handed over? */
static __always_inline bool sampling_takes(const struct rl_stream *s, struct rl_watch_count *c,
					   __u64 now_ns, __u32 tag)
{
	__u64 now;

	if (now_ns >= c->slot_end_ns)
		sampling_turn(s, c, now_ns);
	c->packets++;
	now = c->now + 1;
	WRITE_ONCE(c->now, now);
	return tag < READ_ONCE(s->ceiling) && (__u64)tag * (__u32)now >> 32 < s->keep;
}

/* Was every packet with this tag handed over by a CPU that had so many in the slot? */
static __always_inline bool sampling_is_sure(const struct rl_stream *s, __u32 ceiling,
					     __u32 packets, __u32 tag)
{
	return tag < ceiling && (__u64)tag * packets >> 32 < s->keep;
}
