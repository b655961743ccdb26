// SPDX-License-Identifier: GPL-2.0-only
/* Both clocks at once, which only a BPF program can read. Run by attach through
 * BPF_PROG_TEST_RUN, never attached.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "rlctl_abi.h"

SEC("syscall")
int probe_clocks(struct rl_clocks *clocks)
{
	clocks->jiffies = bpf_jiffies64();
	clocks->monotonic_ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
