#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# IPv6 lives on under a limit that a flood keeps empty: neighbours are found, duplicate addresses are
# noticed, routers are found, in both directions, at xdp and at ingress; unless a rule for fe80::/10
# says otherwise. Neighbours count one by one, and `source show` finds each.
source "$(dirname "$0")/../lib.sh"

# under_flood RULE FLOOD-ARG…: from now on.
under_flood() {
	local before over='(.reasons.over.packets)'
	echo "rule $1" | rl B apply - || return
	shift
	[[ -z ${FLOOD:-} ]] || kill -KILL -- "-$FLOOD"
	bg flood A --rate 2000 --seconds 120 "$@"
	FLOOD=$BG_PID
	before=$(stat_of B "$over") && eventually 5 more_than "$before" stat_of B "$over"
}
more_than() { [[ $("${@:2}") -gt $1 ]]; }

# resolved A B ADDRESS: A finds out the MAC of B's address.
resolved() {
	in_ns "$1" ip neigh flush dev "veth-$1"
	in_ns "$1" ping -6 -c 1 -W 0.1 -I "veth-$1" "$3" >/dev/null # its answer is over the limit
	in_ns "$1" ip -6 neigh show dev "veth-$1" | grep -q "^$3 lladdr"
}
test_neighbours() {
	resolved B A fd77::1 && resolved B A fe80::1 && resolved A B fd77::2 && resolved A B fe80::2
}

# duplicate A ADDRESS: A detects another user of the address.
duplicate() {
	in_ns "$1" ip addr add "$2/64" dev "veth-$1" && eventually 3 is_duplicate "$1" "$2" || return
	in_ns "$1" ip addr del "$2/64" dev "veth-$1"
}
is_duplicate() { in_ns "$1" ip -6 addr show dev "veth-$1" | grep -q "inet6 $2/64 .*dadfailed"; }
test_duplicates() { duplicate B fd77::1 && duplicate A fd77::2 && duplicate B fe80::1 && duplicate A fe80::2; }

# The answer to a solicitation takes the same path as unsolicited advertisements.
test_routers() {
	local solicited
	in_ns B ip -6 route flush proto ra
	in_ns A "$TOP/tests/net/router.py" veth-A advertise || return
	eventually 3 has_router || return
	solicited=$(counter B Icmp6InRouterSolicits)
	in_ns A "$TOP/tests/net/router.py" veth-A solicit || return
	eventually 3 more_than "$solicited" counter B Icmp6InRouterSolicits
}
has_router() { in_ns B ip -6 route show default | grep -q 'via fe80::1 dev veth-B'; }

test_all() { test_neighbours && test_duplicates && test_routers; }
test_device() { under_flood 'device limit 20/second burst 1' --src fd78::/64 && test_all; }
test_neighbour() { under_flood 'any icmp6 limit 20/second burst 1' --src fe80::bad --proto icmp && test_all; }
test_refused() { under_flood 'any limit 1/hour burst 1' --src fe80::1 && test_all; }
test_denied() {
	under_flood 'device limit 20/second burst 1' --src fd78::/64 && rl B rule add any icmp6 deny && test_all
}

# A rule that names icmp6 for the link-local prefix limits it.
test_by_name() {
	under_flood 'device limit 20/second burst 1' --src fd78::/64 &&
		rl B rule add fe80::/10 icmp6 deny && ! resolved B A fe80::1 &&
		rl B rule del fe80::/10 icmp6 deny && resolved B A fe80::1
}

# Each neighbour has an allowance of its own.
test_sources() {
	kill -KILL -- "-$FLOOD"
	echo 'rule any udp limit 3/day burst 3' | rl B apply - &&
		flood A --src fe80::5 --count 2 && flood A --src fe80::6 --count 9 &&
		has 'fe80::5 ' rl B source show fe80::5 && is "$(remaining fe80::5)" 1 &&
		has 'fe80::6 ' rl B source show fe80::6 && is "$(remaining fe80::6)" 0 &&
		has 'forgot 1 state' rl B source forgive fe80::6 && has 'no state' rl B source show fe80::6 &&
		has 'fe80::5 ' rl B source show fe80::5
}

remaining() { rl B source show "$1" -j | json '.states[0].remaining | tostring'; }

at_hook() { # HOOK TEST…
	local hook=$1 name
	t "$hook: attach" rl B attach veth-B --hook "$hook"
	for name in "${@:2}"; do
		t "$hook: $name" "test_$name"
	done
	t "$hook: detach" rl B detach veth-B
	FLOOD=
}

veth_pair A B && in_ns B ethtool -K veth-B gro on &&
	in_ns B sysctl -qw net.ipv6.conf.veth-B.accept_ra=2 net.ipv6.conf.veth-B.forwarding=1 &&
	ip -n "$(ns A)" addr add fe80::1/64 dev veth-A nodad && ip -n "$(ns B)" addr add fe80::2/64 dev veth-B nodad || exit 1
at_hook xdp device neighbour refused denied by_name sources
at_hook ingress device by_name
