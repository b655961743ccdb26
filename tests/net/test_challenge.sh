#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `over challenge` between real stacks: connections that begin with a cookie carry data, forged SYNs leave no
# socket, and nothing is answered that the stack would not answer.
source "$(dirname "$0")/../lib.sh"

ENDS=$TOP/tests/net/handshakes.py
# Refuses every SYN but the first ones.
POLICY='rule any tcp syn limit 1/day burst 1 per rule over challenge'
declare -A SERVER=([4]=10.77.0.2 [6]=fd77::2)

cookies() { in_ns B sysctl -qw "net.ipv4.tcp_syncookies=$1"; }

# use MODE: rlctl in B; the program on the other end makes veth take what B's sends by itself.
use() {
	rl B detach veth-B 2>/dev/null
	[[ $1 == native ]] || in_ns B ethtool -K veth-B gro on || return
	rl B -q attach veth-B --mode "$1" --policy - <<<"$POLICY" && is "$(rl B status -j | json '.[0].mode')" "$1" &&
		cookies 2 && in_ns A "$ENDS" each 10.77.0.2 80 1 | grep -qx 1
}

challenged() { stat_of B .reasons.challenged.packets; }

test_served() { # FAMILY
	local before accepted
	before=$(challenged) && accepted=$(counter B TcpExtSyncookiesRecv) &&
		is "$(in_ns A "$ENDS" each "${SERVER[$1]}" 80 20)" 20 &&
		is "$(challenged)" $((before + 20)) && is "$(counter B TcpExtSyncookiesRecv)" $((accepted + 20))
}

half_open() { in_ns B ss -Htan state syn-recv | wc -l; }

# No packet of the flood's sources is answered by anything but a SYN-ACK: all that comes back is as many
# frames as SYNs, and no ICMP.
test_forged() { # FAMILY SOURCES
	local before sent icmp
	before=$(challenged) && icmp=$(counter B IcmpOutMsgs)/$(counter B Icmp6OutDestUnreachs) && from_b &&
		sent=$(flood A --count 1000 --rate 20000 --proto tcp-syn --dport 80 --src "$2" --dst "${SERVER[$1]}" | json .sent) &&
		is "$sent" 1000 && is "$(half_open)" 0 && is "$(($(challenged) - before))" 1000 &&
		between "$(from_b_since)" 1000 1010 && is "$(counter B IcmpOutMsgs)/$(counter B Icmp6OutDestUnreachs)" "$icmp"
}

# Frames that have come to A.
from_b() { FROM_B=$(frames_of_a); }
from_b_since() { echo $(($(frames_of_a) - FROM_B)); }
frames_of_a() { ip -n "$(ns A)" -s -j link show veth-A | json '.[0].stats64.rx.packets'; }

# A connection that is open goes on during a flood, and new ones are served.
test_beside() {
	mkfifo "$TMP/lines" && { bg in_ns A bash -c "'$ENDS' stay 10.77.0.2 80 <>'$TMP/lines' >'$TMP/echoes'"; } &&
		eventually 5 talks 1 || return
	bg in_ns A "$TOP/build/flood" -i veth-A --seconds 2 --rate 20000 --proto tcp-syn --dport 80 --src 10.78.0.0/16
	is "$(in_ns A "$ENDS" each 10.77.0.2 80 20)" 20 && eventually 5 talks 2 && ! grep -q lost "$TMP/echoes"
	local status=$?
	rm -f "$TMP/lines"
	wait "$BG_PID" && return "$status"
}

talks() {
	echo line >"$TMP/lines"
	sleep 0.05
	(($(grep -c echoed "$TMP/echoes") >= $1))
}

# silent ARG…: SYNs that are dropped without an answer of any kind.
silent() {
	local before
	before=$(stat_of B .reasons.over.packets) && from_b &&
		flood A --count 100 --rate 20000 --proto tcp-syn --src 10.78.0.0/16 "$@" >/dev/null &&
		is "$(($(stat_of B .reasons.over.packets) - before))" 100 && between "$(from_b_since)" 0 5
}

test_nobody_listens() { silent --dport 81; }

# The socket listens on any address; that of another machine is none of its own.
test_forwards() {
	in_ns B sysctl -qw net.ipv4.ip_forward=1 && ip -n "$(ns B)" route add 10.99.0.0/24 via 10.77.0.1 || return
	silent --dport 80 --dst 10.99.0.1
	local status=$?
	in_ns A "$ENDS" each 10.77.0.2 80 1 | grep -qx 1 && in_ns B sysctl -qw net.ipv4.ip_forward=0 &&
		ip -n "$(ns B)" route del 10.99.0.0/24 && return "$status"
}

# As long as the queue has room, the stack answers by itself.
test_kernel_first() {
	local before
	cookies 1 && before=$(challenged) && is "$(in_ns A "$ENDS" each 10.77.0.2 80 5)" 5 &&
		is "$(challenged)" "$before" && between "$(stat_of B .reasons.shadow.packets)" 5 9 && cookies 2
}

# ---- frames to other addresses than the device's

# all_connect: every client is served, though each SYN is over the limit.
all_connect() { is "$(in_ns A "$ENDS" each 10.77.0.2 80 4)" 4; }

# doctor_misses ADDRESS; doctor_misses_none
doctor_misses() { rl B doctor veth-B -j | jq -r '.[] | select(.check == "answers" and .result == "warn") | .what' | grep -qF "$1"; }
doctor_misses_none() { rl B doctor veth-B -j | json 'all(.[]; .check != "answers")'; }

neighbour_is() { ip -n "$(ns A)" neigh replace 10.77.0.2 lladdr "$1" dev veth-A nud permanent; }

# The bridge has an address of its own: it comes before the policy, and after it.
test_bridge() {
	use generic && ip -n "$(ns B)" link add br0 address 02:00:00:00:00:b0 type bridge && in_ns B ip link set veth-B master br0 &&
		ip -n "$(ns B)" addr del 10.77.0.2/24 dev veth-B && ip -n "$(ns B)" addr add 10.77.0.2/24 dev br0 &&
		ip -n "$(ns B)" link set br0 up && neighbour_is 02:00:00:00:00:b0 || return
	doctor_misses 02:00:00:00:00:b0 && rl B -q attach veth-B --replace && doctor_misses_none && eventually 5 all_connect &&
		rl B detach veth-B && rl B -q attach veth-B --mode generic --policy - <<<"$POLICY" && doctor_misses_none &&
		all_connect && all_connect && between "$(challenged)" 7 8
}

test_address_changed() {
	ip -n "$(ns B)" link set br0 address 02:00:00:00:00:b1 && neighbour_is 02:00:00:00:00:b1 && doctor_misses 02:00:00:00:00:b1 &&
		rl B apply -i veth-B - <<<"$POLICY" && doctor_misses_none && all_connect
}

# A frame that the bridge only passes on is not answered.
test_bridge_passes_on() { silent --dport 80 --dmac 02:00:00:00:00:99; }

# doctor_says RESULT TEXT SETTING: with that setting of the namespace, where a policy challenges.
doctor_says() {
	in_ns B sysctl -qw "net.ipv4.$3"
	rl B doctor veth-B -j >"$TMP/found"
	in_ns B sysctl -qw net.ipv4.tcp_syncookies=2 net.ipv4.tcp_timestamps=1
	jq -e --arg result "$1" --arg text "$2" 'any(.[]; .check == "cookies" and .result == $result and
		("\(.what) \(.remedy)" | contains($text)))' "$TMP/found" || _say "$(jq -c . "$TMP/found")"
}

test_doctor() {
	doctor_says fail 'sysctl -w net.ipv4.tcp_syncookies=2' tcp_syncookies=0 &&
		doctor_says ok 'until the socket' tcp_syncookies=1 &&
		doctor_says ok 'every SYN over the limit is answered' tcp_syncookies=2 &&
		doctor_says ok 'keep window scaling' tcp_timestamps=1 &&
		doctor_says warn 'lose window scaling' tcp_timestamps=0
}

# A node of Kubernetes, by the name of a process.
test_doctor_services() {
	local status=0
	! doctor_says warn 'node of Kubernetes' tcp_syncookies=2 || return
	cp "$(command -v sleep)" "$TMP/kube-proxy" && bg "$TMP/kube-proxy" 60 && eventually 5 pgrep -x kube-proxy &&
		doctor_says warn 'write over drop' tcp_syncookies=2 || status=1
	kill "$BG_PID"
	return "$status"
}

# In generic mode the kernel transmits answers by itself.
test_doctor_answers() {
	rl B doctor veth-B -j | json 'all(.[]; .check != "answers")' && use native && rl B doctor veth-B -j |
		json 'any(.[]; .check == "answers" and .result == "warn" and (.remedy | contains("--mode generic")))'
}

test_doctor_unasked() {
	rl B apply - <<<'rule any limit 1000000/second' && ! doctor_says ok '' tcp_syncookies=1
}

veth_pair A B && veth_quiet A B || exit
in_ns B sysctl -qw net.ipv4.tcp_max_syn_backlog=1024
rl A -q attach veth-A --mode native || exit
bg in_ns B "$ENDS" serve 80
eventually 5 listens B 80 || exit

for mode in native generic; do
	t "$mode: attached" use "$mode" || exit
	t "$mode: IPv4 is served" test_served 4
	t "$mode: IPv6 is served" test_served 6
	t "$mode: forged IPv4" test_forged 4 10.78.0.0/16
	t "$mode: forged IPv6" test_forged 6 fd78::/32
	t "$mode: beside a flood" test_beside
	t "$mode: nobody listens" test_nobody_listens
done
t 'a machine that forwards' test_forwards
t 'the kernel wants no cookie yet' test_kernel_first
t 'doctor' test_doctor
t 'doctor, a node of Kubernetes' test_doctor_services
t 'doctor, answers of a veth' test_doctor_answers
t 'doctor, where nothing challenges' test_doctor_unasked
t 'a port of a bridge with another address' test_bridge
t 'an address that was changed' test_address_changed
t 'a frame to another host' test_bridge_passes_on
