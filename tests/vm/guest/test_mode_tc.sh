#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Devices without an Ethernet header, as distribution kernels make them: at hook xdp they are limited all the
# same, by tc's program at ingress.
source "$(dirname "$0")/guest.sh"

# tunnel_new KIND FAMILY: T in A and in B, with addresses of that family inside.
tunnel_new() {
	local end
	for end in 'A 1 2' 'B 2 1'; do
		# shellcheck disable=SC2086 # end is three words
		tunnel_end "$@" $end || return
	done
}
tunnel_end() { # KIND FAMILY NAMESPACE OWN OTHER
	local n
	n=$(ns "$3")
	ip -n "$n" link add T type "$1" local "10.77.0.$4" remote "10.77.0.$5" && ip -n "$n" link set T up || return
	if [[ $2 -eq 4 ]]; then
		ip -n "$n" addr add "10.99.0.$4/24" dev T
	else
		ip -n "$n" addr add "fd99::$4/64" dev T nodad
	fi
}

# Ten of thirty pings are answered, and every packet is classified correctly.
test_tunnel() { # KIND FAMILY ADDRESS
	local result proto=icmp
	[[ $2 -eq 4 ]] || proto=icmp6
	tunnel_new "$1" "$2" && has 'attaching in mode tc' rl B attach T &&
		is "$(rl B status -j | json '.[0] | "\(.hook) \(.mode)"')" 'xdp tc' &&
		rl B rule add any $proto limit 1/hour burst 10 || return
	result=$(in_ns A ping "-$2" -q -c 30 -i 0.01 -W 1 "$3")
	echo "$result"
	[[ $result == *' 10 received'* ]] && is "$(rule_stat B any '"\(.passed.packets) \(.dropped.packets)"')" '10 20' &&
		is "$(stat_of B '.reasons["non-ip"].packets')" 0 &&
		has 'leave out --mode' expect_status 1 rl B attach T --hook xdp --mode native && rl B detach T &&
		nothing_left B T && ip -n "$(ns A)" link del T && ip -n "$(ns B)" link del T
}

test_attach() { # KIND SAYS
	ip -n "$(ns B)" link add T type "$1" && has "$2" rl B attach T && is "$(rl B status -j | json '.[0].mode')" tc &&
		rl B detach T && nothing_left B T && ip -n "$(ns B)" link del T
}

veth_pair A B && veth_quiet A B && ns_mute A || exit 1
in_ns A sysctl -qw net.ipv6.conf.all.disable_ipv6=0
t 'IPv4 in IPv4' test_tunnel ipip 4 10.99.0.2
t 'IPv6 in IPv4' test_tunnel sit 6 fd99::2
t 'GRE' test_tunnel gre 4 10.99.0.2
t 'WireGuard' test_attach wireguard 'attaching in mode tc'
t 'a driver without XDP' test_attach dummy 'the driver does not support XDP'
