#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Refusals that are remembered for one protocol, and rules that are added one by one while they are.
source "$(dirname "$0")/../lib.sh"

# passes N ARG…: as many of 9 packets of such a flood.
passes() { is "$(growth 'stat_of B .passed.packets' flood A --count 9 "${@:2}")" "$1"; }

# In place beside other prefixes, so that the header in force is changed and not replaced.
place() {
	veth_pair A B && veth_quiet A B && rl B attach veth-B && rl B rule add 192.0.2.0/24 deny && rl B rule add 2001:db8::/32 deny &&
		rl B rule add any udp limit 1/hour burst 2
}

test_first() { passes 2 --src fd78::9 && passes 0 --src fd78::8 && passes 9 --src fd78::9 --proto tcp-syn; }

# A refusal of IPv6 is of a network: not for a host of it with a rule. In turns, for it is remembered for a second at most.
in_turns() { # REFUSED ALLOWED
	local turn
	for turn in {1..6}; do
		passes 0 --src "$1" && passes 9 --src "$2" || _say "in turn $turn" || return
	done
}
test_host() { rl B rule add fd78::1 allow && in_turns fd78::9 fd78::1; }
test_host_4() { passes 2 --src 10.78.0.9 && rl B rule add 10.78.0.1 allow && in_turns 10.78.0.9 10.78.0.1; }

# Another limit makes another class, or none.
test_others() {
	rl B rule add 10.78.0.2 udp limit 1/hour burst 3 && passes 3 --src 10.78.0.2 && rl B rule add any limit 1/hour burst 4 &&
		passes 0 --src 10.78.0.9 && passes 4 --src 10.78.0.8 --proto tcp-syn && passes 0 --src 10.78.0.8 --proto tcp-syn
}
test_gone() { rl B rule del any udp && rl B rule del any && passes 9 --src 10.78.0.9; }

t 'a flood that a limit of UDP refuses' place || exit
t 'packets of that protocol alone' test_first
t 'an IPv6 host in a network that is refused' test_host
t 'an IPv4 host beside one that is refused' test_host_4
t 'more limits' test_others
t 'none' test_gone
