#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# One table of questions for each network namespace: B has two uplinks to A, and packets come by either. A packet
# that B forwards is no question of its own.
source "$(dirname "$0")/../lib.sh"

CLIENTS='rule any udp dport 6000 established deny' # to see that none is
UNASKED='rule any udp dport 6000 not established deny'
BOTH=(veth-B side-B)

side_cable() {
	ip -n "$(ns A)" link add side-A type veth peer name side-B netns "$(ns B)" &&
		ip -n "$(ns A)" addr add 10.78.0.1/24 dev side-A && ip -n "$(ns B)" addr add 10.78.0.2/24 dev side-B &&
		ip -n "$(ns A)" link set side-A up && ip -n "$(ns B)" link set side-B up &&
		in_ns A ethtool -K side-A gro on && in_ns A ethtool -K veth-A gro on && any_path A && any_path B
}

# any_path A: no packet is refused for the device that it comes by.
any_path() {
	in_ns "$1" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 &&
		in_ns "$1" sysctl -qw "net.ipv4.conf.veth-$1.rp_filter=0" "net.ipv4.conf.side-$1.rp_filter=0"
}

attach_both() { # POLICY
	local device
	for device in "${BOTH[@]}"; do
		rl B -q attach "$device" --policy - <<<"$1" || return
	done
}

detach_both() {
	local device
	for device in "${BOTH[@]}"; do rl B detach "$device" || return; done
}

# client DEVICE ADDRESS N: datagrams of 10.77.0.1:5000 to B's port 6000, by a device of A.
client() {
	in_ns A "$TOP/build/flood" -i "$1" -j --count "$3" --rate 1000 --proto udp --src 10.77.0.1 --sport 5000 \
		--dst "$2" --dport 6000 >/dev/null
}

# loses DEVICE N CMD…: so many packets are dropped there meanwhile.
loses() { is "$(growth "dropped_at $1" "${@:3}")" "$2"; }
dropped_at() { rl B stats "$1" -j | json '.[0].dropped.packets'; }

# question FROM-PORT TO-PORT: B asks 10.77.0.1, from a socket that then stays bound.
question() {
	in_ns B python3 -c "import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('', $1))
s.sendto(b'question', ('10.77.0.1', $2))"
}

table_of() { # DEVICE: its id, or null
	local pin
	pin=$(ns_pins "${2:-B}")/$1-xdp/asked
	if [[ -e $pin ]]; then bpftool -j map show pinned "$pin" | json .id; else echo null; fi
}

# ---- the rows

answered_elsewhere() {
	client side-A 10.78.0.2 1 && eventually 3 answered && loses veth-B 0 client veth-A 10.77.0.2 50 &&
		is "$(rl B stats veth-B -j | json '.[0].passed.packets >= 50')" true
}
answered() { between "$(counter B UdpOutDatagrams)" 1 1000; }

asked_elsewhere() { question 6000 5000 && loses side-B 0 client side-A 10.77.0.2 20; }

one_table() {
	is "$(table_of veth-B)" "$(table_of side-B)"
}

survives_detach() {
	local table
	table=$(table_of side-B) && question 6000 5000 && rl B detach veth-B && is "$(table_of side-B)" "$table" &&
		loses side-B 0 client side-A 10.77.0.2 20 && rl B -q attach veth-B --policy - <<<"$UNASKED" &&
		is "$(table_of veth-B)" "$table" && loses veth-B 0 client veth-A 10.77.0.2 20
}

survives_replace() {
	question 6000 5000 && rl B -q attach side-B --replace && one_table && loses side-B 0 client side-A 10.77.0.2 20
}

# A policy that asks nothing gives its part of the table back, and gets it again.
comes_and_goes() {
	rl B apply -i veth-B - <<<'rule any limit 1m/second' && is "$(table_of veth-B)" null && rl B apply -i veth-B - <<<"$UNASKED" &&
		one_table
}

other_namespace() {
	rl A -q attach side-A --policy - <<<"$UNASKED" && [[ $(table_of side-A A) != "$(table_of side-B)" ]] && rl A detach side-A
}

# An uplink is where a gateway is.
unseen_uplink() {
	ip -n "$(ns B)" route add default via 10.77.0.1 && ip -n "$(ns B)" route add 192.0.2.0/24 via 10.78.0.1 &&
		expect_fail says_unseen side-B && rl B detach side-B && says_unseen side-B &&
		rl B -q attach side-B --policy - <<<'rule any limit 1m/second' && says_unseen side-B &&
		rl B apply -i side-B - <<<"$UNASKED" && expect_fail says_unseen side-B && ip -n "$(ns B)" route del 192.0.2.0/24 &&
		rl B detach side-B && expect_fail says_unseen side-B && rl B -q attach side-B --policy - <<<"$UNASKED"
}
says_unseen() {
	rl B doctor veth-B -j | jq -r '.[] | select(.check == "asked" and .result == "warn") | .what' | grep "comes by $1"
}

nothing_left() { detach_both && [[ ! -e $(ns_pins B) ]]; }

# A neighbour has B forward a packet to 10.77.0.77, in whose name it then writes to B's port.
forwarded() {
	local before
	ip -n "$(ns B)" neigh replace 10.77.0.77 lladdr 02:00:00:00:00:77 dev veth-B nud permanent &&
		in_ns B sysctl -qw net.ipv4.ip_forward=1 && rl B -q attach veth-B --policy - <<<"$UNASKED" || return
	before=$(counter B IpForwDatagrams) && between_hosts 10.77.0.1 6000 10.77.0.77 53 1 &&
		eventually 3 prints $((before + 1)) counter B IpForwDatagrams &&
		loses veth-B 50 between_hosts 10.77.0.77 53 10.77.0.2 6000 50
}

between_hosts() { # SRC SPORT DST DPORT N
	in_ns A "$TOP/build/flood" -i veth-A -j --count "$5" --rate 1000 --proto udp --src "$1" --sport "$2" --dst "$3" \
		--dport "$4" >/dev/null
}

own_questions_count() { question 6000 5000 && loses veth-B 0 client veth-A 10.77.0.2 20; }

veth_pair A B 2 && veth_quiet A B && side_cable || exit
bg in_ns B python3 "$TOP/tests/net/players.py" serve 6000
t 'attached at both uplinks' attach_both "$CLIENTS" || exit
t 'one table' one_table
t 'a client that is answered by another uplink is not established' answered_elsewhere
kill -TERM -- "-$BG_PID" && wait "$BG_PID" 2>/dev/null
detach_both || exit
bg in_ns B python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 6000))
time.sleep(1000)'
t 'attached again' attach_both "$UNASKED" || exit
t 'an answer that comes by another uplink' asked_elsewhere
t 'detaching one takes nothing from the other' survives_detach
t 'a new program keeps it' survives_replace
t 'a policy that asks nothing' comes_and_goes
t 'another namespace has its own' other_namespace
t 'an uplink without an instance' unseen_uplink
t 'the last one takes it along' nothing_left
t 'what is forwarded is no question' forwarded
t 'beside it, questions of this machine are' own_questions_count
