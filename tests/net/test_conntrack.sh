#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --state conntrack: a router between a client and a server, whose connection tracking says who is
# established; the rows speak TAP themselves (routed.py).
source "$(dirname "$0")/../lib.sh"

export RLCTL PYTHONDONTWRITEBYTECODE=1

# line NETNS DEVICE ADDRESS NUMBER: a device of the router R and the host at its other end.
line() {
	local device="$2" host router
	host=$(ns "$1") router=$(ns R)
	ip -n "$router" link add "$device" address "02:00:00:00:0$4:0$4" type veth peer name veth \
		address "02:00:00:00:0$4:aa" netns "$host" || return
	in_ns "$1" ethtool -K veth tso off gso off gro off >/dev/null && in_ns R ethtool -K "$device" gro off >/dev/null || return
	ip -n "$router" link set "$device" addrgenmode none && ip -n "$host" link set veth addrgenmode none &&
		ip -n "$router" addr add "10.$4.0.1/24" dev "$device" && ip -n "$host" addr add "10.$4.0.2/24" dev veth &&
		ip -n "$router" addr add "fd0$4::1/64" dev "$device" nodad && ip -n "$host" addr add "fd0$4::2/64" dev veth nodad &&
		ip -n "$router" link set "$device" up && ip -n "$host" link set veth up || return
	ip -n "$host" route add default via "10.$4.0.1" && ip -n "$host" -6 route add default via "fd0$4::1" || return
	for address in "10.$4.0.2" "10.$4.0.9" "fd0$4::2" "fd0$4::9"; do
		ip -n "$router" neigh replace "$address" lladdr "02:00:00:00:0$4:aa" dev "$device" nud permanent || return
	done
	for address in "10.$4.0.1" "fd0$4::1"; do
		ip -n "$host" neigh replace "$address" lladdr "02:00:00:00:0$4:0$4" dev veth nud permanent || return
	done
}

# Strangers are everywhere behind the server.
ns_new C R S && line C in 1 1 && line S out 2 2 &&
	ip -n "$(ns R)" route add default via 10.2.0.2 && ip -n "$(ns R)" -6 route add default via fd02::2 &&
	in_ns R sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 || exit 1

python3 "$TOP/tests/net/routed.py" "$RLCTL" "$(ns C)" "$(ns R)" "$(ns S)" || _failed=1
