#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits on GRE devices go by the packet within the tunnel, also where the device has no remote address
# and the kernel shows the outer headers as the link's: at both hooks.
source "$(dirname "$0")/guest.sh"

# tunnel A KIND OPTION…: gre-A with 10.99.0.N and fd99::N.
tunnel() {
	local name=$1 kind=$2 n=1
	[[ $name == A ]] || n=2
	shift 2
	ip -n "$(ns "$name")" link add "gre-$name" type "$kind" "$@" ttl 64 &&
		ip -n "$(ns "$name")" addr add "10.99.0.$n/24" dev "gre-$name" &&
		ip -n "$(ns "$name")" addr add "fd99::$n/64" dev "gre-$name" nodad &&
		ip -n "$(ns "$name")" link set "gre-$name" up
}

# leads_to ADDRESS REMOTE: a device without a remote address asks its neighbours.
leads_to() { ip -n "$(ns B)" neigh replace "$1" lladdr "$2" dev gre-B nud permanent; }

# tunnels KIND LOCAL REMOTE [REMOTE-OF-B]: from A, whose end is LOCAL, to B, whose end has no remote address
# unless one is given.
tunnels() {
	local address
	tunnel A "$1" local "$2" remote "$3" && tunnel B "$1" local "$3" ${4:+remote "$4"} || return
	ip -n "$(ns A)" addr add 10.99.0.3/24 dev gre-A && ip -n "$(ns A)" addr add fd99::3/64 dev gre-A nodad || return
	for address in 10.99.0.1 10.99.0.3 fd99::1 fd99::3; do
		[[ -n ${4:-} ]] || leads_to "$address" "$2" || return
	done
	in_ns A ping -c 1 -W 2 10.99.0.2 && in_ns A ping -c 1 -W 2 fd99::2
}

# answered N SOURCE DEST: of five pings.
answered() {
	in_ns A ping -c 5 -i 0.05 -W 1 -I "$2" "$3" >"$TMP/ping"
	grep -q " $1 received" "$TMP/ping" || _say "$(<"$TMP/ping")"
}

# Rules for the outer addresses, or for GRE, hold for no packet.
test_ingress() {
	rl B attach gre-B --hook ingress && rl B apply - <<-END || return
		rule 10.77.0.0/24 deny
		rule fd77::/64 deny
		rule any gre deny
		rule 10.99.0.1 limit 3/hour burst 3
		rule fd99::1 limit 2/hour burst 2
	END
	answered 3 10.99.0.1 10.99.0.2 && answered 5 10.99.0.3 10.99.0.2 &&
		answered 2 fd99::1 fd99::2 && answered 5 fd99::3 fd99::2 || return
	is "$(rule_stat B 10.99.0.1 '"\(.passed.packets) \(.passed.bytes) \(.dropped.packets)"')" '3 252 2' &&
		is "$(rule_stat B fd99::1 '"\(.passed.packets) \(.passed.bytes) \(.dropped.packets)"')" '2 208 3' &&
		is "$(stat_of B '.reasons | "\(.malformed.packets) \(.["non-ip"].packets)"')" '0 0' && rl B detach gre-B
}

test_egress() {
	rl B attach gre-B --hook egress && rl B apply - <<-END || return
		rule any gre deny
		rule any dst 10.77.0.0/24 deny
		rule any dst 10.99.0.1 limit 3/hour burst 3 per dest
		rule any dst fd99::1 limit 2/hour burst 2 per dest
	END
	answered 3 10.99.0.1 10.99.0.2 && answered 5 10.99.0.3 10.99.0.2 &&
		answered 2 fd99::1 fd99::2 && answered 5 fd99::3 fd99::2 || return
	is "$(rule_stat B 'any dst 10.99.0.1' '"\(.passed.packets) \(.passed.bytes) \(.dropped.packets)"')" '3 252 2' &&
		is "$(stat_of B '.reasons | "\(.malformed.packets) \(.["non-ip"].packets)"')" '0 0' && rl B detach gre-B
}

# Matches look at the packet within the tunnel as well.
test_matches() {
	local status=0
	rl B attach gre-B --hook ingress && rl B apply - <<-END || return
		rule any icmp icmp-type echo-request length 36 ttl 64 payload 0 ca deny
		rule any icmp6 icmp-type echo-request length 56 not ttl 63 payload 0 ca deny
	END
	patterns 10.99.0.2 && patterns fd99::2 || status=1
	rl B detach gre-B && return "$status"
}

# Pings of 8 bytes: only those with the pattern of the rule are lost.
patterns() {
	in_ns A ping -q -c 3 -i 0.05 -W 1 -s 8 -p cb "$1" | grep ' 3 received' &&
		in_ns A ping -q -c 3 -i 0.05 -W 1 -s 8 -p ca "$1" | grep ' 0 received'
}

# both_hooks NAME KIND LOCAL REMOTE [REMOTE-OF-B]
both_hooks() {
	local name=$1
	shift
	t "$name: tunnels" tunnels "$@" || return
	t "$name: ingress" test_ingress
	t "$name: egress" test_egress
	t "$name: matches" test_matches
	ip -n "$(ns A)" link del gre-A && ip -n "$(ns B)" link del gre-B
}

veth_pair A B && veth_quiet A B || exit 1
both_hooks 'between two' gre 10.77.0.1 10.77.0.2 10.77.0.1
both_hooks 'without a remote' gre 10.77.0.1 10.77.0.2
both_hooks 'over IPv6' ip6gre fd77::1 fd77::2 fd77::1
