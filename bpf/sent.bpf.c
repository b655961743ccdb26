// SPDX-License-Identifier: GPL-2.0-only
/* The companion of a program whose policy asks what is established: at egress of the same device,
 * it notes whom this machine asks (asked.h). Every packet goes on. A packet that came by another
 * device, and is forwarded or bridged, is no question of this machine; one that a macvlan or veth
 * hands over is known by its address, which is part of the key.
 */
#include <linux/pkt_cls.h>

#include "proof/asked.h"
#include "packet/skb_parse.h"

SEC("tc")
int rlctl_sent(struct __sk_buff *skb)
{
	struct icmp_header icmp;
	struct packet p = {};

	if (skb->ingress_ifindex || skb_parse_headers(skb, &p) != PARSE_IP)
		return TC_ACT_UNSPEC;
	if (is_icmp(&p) && !(p.flags & PACKET_LATER)) {
		if (!skb_load(skb, p.transport, &icmp, sizeof(icmp)) &&
		    is_echo(&p, &icmp, ECHO_REQUEST, ECHO_REQUEST_ICMP6))
			asked_put_sent(&p, echo_identifier(&icmp), 0, 0);
	} else if (p.proto == IPPROTO_UDP && p.flags & PACKET_PORTS) {
		asked_put_sent(&p, p.sport, p.dport, p.sport);
	}
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
