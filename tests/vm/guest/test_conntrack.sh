#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --state conntrack where connection tracking is a module: not loaded, attach and apply say so and change
# nothing, and --state sockets needs none; loaded, its entries tell what is established.
source "$(dirname "$0")/guest.sh"

COUNTED='rule any established limit 1m/second burst 1m
rule any not established limit 1m/second burst 1m'
MISSING='modprobe nf_conntrack'

module_out() { rmmod nft_ct && rmmod nf_conntrack; }
module_in() { insmod /modules/nf_conntrack.ko && insmod /modules/nft_ct.ko; }

test_absent() {
	has "$MISSING" expect_status 1 rl B attach veth-B --state conntrack && nothing_left B veth-B &&
		has "$MISSING" expect_status 1 rl B attach veth-B --state conntrack --policy - <<<"$COUNTED" && nothing_left B veth-B
}

test_absent_sockets() {
	rl B attach veth-B --policy - <<<"$COUNTED" && is "$(rl B status -j | json '.[0].state')" sockets && rl B detach veth-B
}

# A policy that asks nothing needs no module, and neither does its program when it is replaced; the module
# may go before a policy asks.
test_gone() {
	local before
	module_in && rl B attach veth-B --state conntrack && module_out || return
	before=$(rl B show) && has "$MISSING" expect_status 1 rl B apply - <<<"$COUNTED" && is "$(rl B show)" "$before" &&
		rl B attach veth-B --replace && rl B detach veth-B
}

# count HOOK N: packets of the N-th rule: 0 established, 1 not.
count() { rl B stats -j | json ".[] | select(.hook == \"$1\") | .rules[$2].passed.packets"; }

# All that comes to a client is established, and all that leaves it once the handshake is complete, but for
# UDP; packets of a flood are not.
test_tracked() {
	local hook
	module_in && in_ns B nft -f - <<-'END' || return
	table inet t {
		chain c {
			type filter hook input priority 0
			ct state established counter
		}
	}
	END
	for hook in xdp egress; do
		rl B attach veth-B --hook "$hook" --state conntrack --policy - <<<"$COUNTED" || return
	done
	bg in_ns A busybox nc -l -p 80 -e cat && eventually 5 listens &&
		is "$(in_ns B busybox nc 10.77.0.1 80 <<<hello)" hello || return
	is "$(count xdp 1)" 0 && between "$(count xdp 0)" 3 9 && between "$(count egress 0)" 2 9 && is "$(count egress 1)" 1 &&
		flood A --count 200 --rate 1000 --src 10.78.0.0/16 && eventually 5 prints 200 count xdp 1
}
listens() { in_ns A ss -Hltn 'sport = :80' | grep -q 80; }

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1
t 'the module goes' module_out
t 'not loaded: attach says what to do' test_absent
t 'not loaded: sockets are asked' test_absent_sockets
t 'not loaded any more: apply says what to do' test_gone
t 'loaded: replies and complete handshakes are established' test_tracked
