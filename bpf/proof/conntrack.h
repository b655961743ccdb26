/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a packet established on a machine that forwards? Its connection tracking says so, which keeps
 * an entry for each connection that passed through, both its directions under the addresses that a
 * packet arrives with: before NAT, or before NAT is undone.
 *
 * A packet of the reply direction answers whoever sent first, so it is established. One of the
 * original direction is where a handshake is complete (TCP). An entry alone proves nothing: any
 * packet that was let through makes one, and one that is equal to it finds it. Only in
 * rlctl_conntrack.bpf.c.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <bpf/bpf_helpers.h>

#include "packet/packet.h"

/* The kernel's own, as far as they are needed: its headers are younger than those that this is
 * compiled with. */
struct nf_conn {
	unsigned long status; /* enum ip_conntrack_status */
} __attribute__((preserve_access_index));

struct bpf_ct_opts___first { /* of Linux 5.18; later ones are longer, and take this too */
	__s32 netns_id;
	__s32 error;
	__u8 l4proto;
	__u8 dir; /* enum ip_conntrack_dir, of the packet */
	__u8 reserved[2];
};

struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *xdp, struct bpf_sock_tuple *tuple, __u32 size,
				  struct bpf_ct_opts___first *opts, __u32 opts_size) __ksym;
struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *skb, struct bpf_sock_tuple *tuple, __u32 size,
				  struct bpf_ct_opts___first *opts, __u32 opts_size) __ksym;
void bpf_ct_release(struct nf_conn *entry) __ksym;

/* The tuple is that of a packet that arrives; `leaves`: this one goes the other way. */
static __always_inline enum proof conntrack_proof(void *ctx, bool skb, __u8 proto,
						  struct bpf_sock_tuple *tuple, __u32 size,
						  bool leaves)
{
	struct bpf_ct_opts___first opts = {.netns_id = BPF_F_CURRENT_NETNS, .l4proto = proto};
	struct nf_conn *entry = skb ? bpf_skb_ct_lookup(ctx, tuple, size, &opts, sizeof(opts))
				    : bpf_xdp_ct_lookup(ctx, tuple, size, &opts, sizeof(opts));
	bool assured;

	if (!entry)
		return PROOF_NONE;
	assured = entry->status & IPS_ASSURED;
	bpf_ct_release(entry);
	if ((opts.dir == IP_CT_DIR_REPLY) != leaves)
		return PROOF_ESTABLISHED;
	return proto == IPPROTO_TCP && assured ? PROOF_ESTABLISHED : PROOF_NONE;
}
