#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits on open connections, where the kernel is another: its tracepoint, its walk through sockets and
# its verifier. tests/net/connections.py has the rest.
source "$(dirname "$0")/guest.sh"

LIMIT='rule any tcp dport 443 limit 3 connections per source/24,64'

# open N: so many connections more, each of a process of its own.
clients=()
open() {
	local n
	for ((n = 0; n < $1; n++)); do
		bg in_ns A bash -c 'exec 5<>/dev/tcp/10.77.0.2/443 && exec sleep 600'
		clients+=("$BG_PID")
	done
}
shut() {
	kill -KILL -- "-${clients[-1]}" && unset 'clients[-1]'
}

refused() { ! timeout 3 nsenter --net="/run/netns/$(ns A)" bash -c '</dev/tcp/10.77.0.2/443'; }
is_open() { [[ $(rl B stats -j | json '.[0].rules[0].open_connections') -eq $1 ]]; }
opens() { eventually 10 is_open "$1"; }
listens() { in_ns B ss -Hltn 'sport = :443' | grep -q 443; }

test_limit() { # MODE
	rl B attach veth-B --mode "$1" --policy - <<<"$LIMIT" && open 3 && opens 3 && refused && shut && opens 2 &&
		open 1 && opens 3 && refused && rl B detach veth-B
}
test_before() {
	open 1 && rl B attach veth-B --policy - <<<"$LIMIT" && opens 4 && refused && shut && opens 3 && refused &&
		shut && opens 2 && open 1 && opens 3 && refused
}
test_none_left() {
	while [[ ${#clients[@]} -gt 0 ]]; do shut || return; done
	opens 0 && rl B detach veth-B && ! find "$(ns_pins B)" -name 'connections*' 2>/dev/null | grep .
}

veth_pair A B 2 && veth_quiet A B && in_ns B ethtool -K veth-B gro on || exit 1
bg in_ns B busybox nc -ll -p 443 -e cat
eventually 10 listens || exit 1
t 'native' test_limit native
t 'what was open before, and one more' test_before
t 'none is left' test_none_left
