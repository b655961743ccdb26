#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hook xdp where XDP cannot limit: no driver for it, or no Ethernet header. tc's program at ingress takes its
# place, counts the packets within an skb, and runs before an instance of hook ingress. check: timeout 400
source "$(dirname "$0")/../lib.sh"

mode() { rl B status -j --hook xdp | json '.[0] | "\(.hook) \(.mode)"'; }
programs() { rl B status -j | json '[.[].program_id] | join(" ")'; }
qdiscs() { tc -n "$(ns B)" qdisc show dev veth-B; }
filters() { tc -n "$(ns B)" filter show dev veth-B ingress; }
traceless() { is "$(qdiscs)" "$BEFORE" && is "$(xdp_program B veth-B)" '' && [[ ! -e $(ns_pins B) ]]; }

# ---- a driver without XDP

FALLS_BACK='native XDP is not possible (too few queues'

test_life() {
	local id status=0
	has "$FALLS_BACK" rl B attach veth-B && is "$(mode)" 'xdp tc' && is "$(ls "$(ns_pins B)")" veth-B-xdp || return
	rl B rule add any icmp limit 1/hour burst 3 && answers 3 && id=$(programs) || status=1
	has 'already attached' expect_status 1 rl B attach veth-B || status=1
	rl B attach veth-B --or-apply && is "$(programs)" "$id" || status=1
	rl B detach veth-B && traceless && return "$status"
}

test_native_only() { has 'too few queues' expect_status 1 rl B attach veth-B --mode native && traceless; }

# From the first packet on, and with the bursts that packets of 64 KB need.
test_policy() {
	echo 'rule any tcp limit 100kbyte/second' >"$TMP/policy"
	echo 'rule any tcp limit 200kbyte/second' >>"$TMP/policy"
	is "$(rl B attach veth-B --policy "$TMP/policy" 2>&1 | grep -c 'replaces the rule')" 1 &&
		is "$(rl B show)" 'rule any tcp limit 200kbyte/second burst 72kibyte' && rl B detach veth-B
}
test_generic() {
	echo 'rule any tcp limit 100kbyte/second' >"$TMP/policy"
	has 'counts merged packets as one' rl B attach veth-B --mode generic --policy "$TMP/policy" && is "$(mode)" 'xdp generic' &&
		rl B rule add any udp limit 80kbyte/second &&
		is "$(rl B show)" "$(printf 'rule any %s burst 72kibyte\n' 'tcp limit 100kbyte/second' 'udp limit 80kbyte/second')" &&
		rl B detach veth-B && traceless
}

# Only tc can mark, so a policy that marks is accepted here, and refused where the device runs XDP.
test_mark() {
	echo 'rule any icmp limit 1/hour burst 3 over mark 42' >"$TMP/policy"
	rl B attach veth-B --policy "$TMP/policy" && answers 5 && is "$(rule_stat B 'any icmp' .shadow.packets)" 2 &&
		rl B detach veth-B && has 'line 1' expect_status 1 rl A attach veth-A --policy "$TMP/policy" &&
		has 'no mark' expect_status 1 rl B attach veth-B --mode generic --policy "$TMP/policy" &&
		is "$(xdp_program A veth-A)" '' && [[ ! -e $(ns_pins A) ]] && traceless
}

# xdp runs first, whichever was attached first; detaching one does not affect the other.
test_beside_ingress() { # FIRST SECOND
	local id
	rl B attach veth-B --hook "$1" && rl B attach veth-B --hook "$2" &&
		rl B rule add -i veth-B --hook xdp any icmp limit 1/hour burst 3 &&
		rl B rule add -i veth-B --hook ingress any icmp limit 1/hour burst 2 || return
	answers 2 && is "$(seen xdp)" '3 2' && is "$(seen ingress)" '2 1' || return
	rl B detach veth-B --hook "$1" && answers 0 && id=$(programs) && rl B attach veth-B --hook "$1" &&
		rl B attach veth-B --replace && [[ $(programs) != *"$id"* ]] || return
	rl B detach veth-B --hook "$2" && answers 5 && rl B detach veth-B && traceless
}
seen() { rl B stats -j veth-B --hook "$1" | json '.[0] | "\(.passed.packets) \(.dropped.packets)"'; }

test_replace() {
	local id
	rl B attach veth-B && rl B rule add any icmp limit 1/hour burst 3 && answers 3 && id=$(programs) &&
		rl B attach veth-B --replace && [[ $(programs) -ne $id ]] && is "$(mode)" 'xdp tc' && answers 0 || return
	for mode in native generic; do
		has 'in mode tc, which --replace keeps' expect_status 1 rl B attach veth-B --replace --mode $mode || return
	done
	rl B detach veth-B && traceless
}

# An answer that only a program at xdp can give is refused where attach falls back, and nothing is left. The message
# says where this is, and how to attach instead.
test_answers() {
	echo 'rule any syn limit 10/second over challenge' >"$TMP/answers"
	has 'this is mode tc: write over drop, or attach with --mode generic' expect_status 1 rl B attach veth-B --policy "$TMP/answers" && traceless &&
		rl B attach veth-B && has 'this is mode tc' expect_status 1 rl B apply "$TMP/answers" && rl B detach veth-B && traceless &&
		rl B attach veth-B --mode generic --policy "$TMP/answers" && rl B detach veth-B && traceless
}

# The same of a policy that comes with rlctl, at a hook that was asked for; without its answers it is accepted there.
test_answers_hook() { # HOOK
	has "this is hook $1: write over drop, or attach without --hook $1" expect_status 1 rl B attach veth-B --hook "$1" --policy dns && traceless &&
		rl B policies dns | sed 's/ over truncate//' >"$TMP/dns" && rl B attach veth-B --hook "$1" --policy "$TMP/dns" && rl B detach veth-B && traceless
}

# tc_forced: takes the program off B's ingress, a filter of clsact or a link of tcx.
tc_forced() {
	local link
	link=$(ns_pins B)/veth-B-xdp/link
	if [[ -e $link ]]; then
		bpftool link detach pinned "$link"
	else
		tc -n "$(ns B)" qdisc del dev veth-B clsact
	fi
}
test_forced() {
	rl B attach veth-B && tc_forced && is "$(rl B status -j)" '[]' &&
		has 'no longer on the device' expect_status 1 rl B show -i veth-B && rl B attach veth-B && rl B detach veth-B &&
		traceless
}

# Whatever state an attach leaves when killed right before its Nth message by netlink, the next one works, unless it had
# ended but for what it says.
test_crash() {
	local n status killed=0
	for ((n = 4; n < 60; n += 4)); do
		status=0
		strace -f -o /dev/null -e trace=sendto,sendmsg -e inject=sendto:signal=KILL:when=$n \
			"$RLCTL" -n "$(ns B)" attach veth-B || status=$?
		[[ $status -ne 0 ]] || break
		killed=$((killed + 1))
		rl A attach lo && rl A detach lo && { in_mode_tc || rl B attach veth-B; } && rl B detach veth-B && traceless || _say "at $n" || return
	done
	[[ $killed -ge 1 && $status -eq 0 ]] && rl B detach veth-B && traceless
}

in_mode_tc() { is "$(mode)" 'xdp tc'; }
test_try() {
	echo 'rule any icmp deny' >"$TMP/policy"
	bg "$RLCTL" -n "$(ns B)" attach veth-B --policy "$TMP/policy" --try 8s
	eventually 5 in_mode_tc && answers 0 && eventually 5 traceless && answers 5
}

# By what attach noted, for they may not ask the kernel.
test_reader() {
	local as=(setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all)
	rl B attach veth-B --group 54321 && has ' tc ' in_ns B "${as[@]}" "$RLCTL" status && rl B detach veth-B && traceless
}

# ---- several packets in one skb: A's segments of TCP come 64 KB at a time

RATE=4000 BURST=400 FRAME=1514

stream() { in_ns A iperf3 --client 10.77.0.2 --time 1 --json >"$TMP/stream"; }

# tcp_passed ATTACH-OPTION…: bytes that a limit in packets let pass, into PASSED, and into MOST what it may.
tcp_passed() {
	local from
	rl B attach veth-B "$@" && rl B rule add any tcp limit $RATE/second burst $BURST && from=${EPOCHREALTIME/./} && stream &&
		PASSED=$(stat_of B .passed.bytes) || return
	MOST=$(((BURST + RATE * (${EPOCHREALTIME/./} - from) / 1000000) * FRAME))
	echo "$PASSED bytes, $MOST at most"
	rl B detach veth-B
}
test_segments() { tcp_passed && [[ $PASSED -le $MOST && $PASSED -gt $((MOST / 16)) ]]; }
test_merged() { tcp_passed --mode generic && [[ $PASSED -gt $((5 * MOST)) ]]; }

# ---- no Ethernet header

test_tunnel() {
	local n
	n=$(ns B)
	ip -n "$n" tuntap add dev tun-B mode tun && ip -n "$n" addr add 10.99.0.1/24 dev tun-B && ip -n "$n" link set tun-B up &&
		has 'no Ethernet header' rl B attach tun-B && is "$(mode)" 'xdp tc' || return
	rl B rule add any udp dport 7 limit 1/hour burst 3 && in_ns B python3 "$TOP/tests/net/tunnel.py" tun-B 5 &&
		is "$(stat_of B '"\(.passed.packets) \(.dropped.packets) \(.dropped.bytes)"')" '3 2 256' || return
	bg "$RLCTL" -n "$n" monitor -w "$TMP/pcap" --count 5
	eventually 5 watch_board tun-B-xdp '.on == 1' && in_ns B python3 "$TOP/tests/net/tunnel.py" tun-B 5 && eventually 5 captured || return
	rl B detach tun-B && ip -n "$n" link del tun-B
}
captured() { has 'IP 10.99.0.2.1000 > 10.99.0.1.7: UDP, length 100' tcpdump -nr "$TMP/pcap"; }

# Every kind of link (numbers of linux/if_arp.h): PPP, raw IP, tunnels of IPv4 and IPv6, sit, GRE, none.
test_links() {
	local type mode
	ip -n "$(ns B)" tuntap add dev tun-B mode tun || return
	for type in 512 519 768 769 776 778 823 65534; do
		in_ns B python3 "$TOP/tests/net/tunnel.py" --link "$type" tun-B && has 'attaching in mode tc' rl B attach tun-B &&
			is "$(mode)" 'xdp tc' && rl B detach tun-B || _say "type $type" || return
	done
	for mode in native generic; do
		has 'leave out --mode' expect_status 1 rl B attach tun-B --mode $mode || return
	done
	in_ns B python3 "$TOP/tests/net/tunnel.py" --link 280 tun-B && # CAN
		has 'neither an Ethernet nor an IP header' expect_status 1 rl B attach tun-B &&
		has 'neither an Ethernet nor an IP header' expect_status 1 rl B attach tun-B --hook ingress &&
		is "$(xdp_program B tun-B)" '' && [[ ! -e $(ns_pins B) ]] && ip -n "$(ns B)" link del tun-B
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B && no_native A B || exit 1
BEFORE=$(qdiscs)
t 'attach and detach' test_life
t 'native never falls back' test_native_only
t 'a policy from the first packet' test_policy
t 'generic for who asks' test_generic
t 'over mark' test_mark
t 'beside ingress, which comes second' test_beside_ingress xdp ingress
t 'beside ingress, which came first' test_beside_ingress ingress xdp
t 'replaced' test_replace
t 'no answers at tc' test_answers
t 'no answers at hook ingress' test_answers_hook ingress
t 'no answers at hook egress' test_answers_hook egress
t 'taken off by force' test_forced
t 'killed anywhere' test_crash
t 'taken off unless confirmed' test_try
t 'read by a group' test_reader
serve B || exit 1
t 'TCP, segments counted' test_segments
t 'TCP, merged in generic mode' test_merged
t 'packets of a tunnel' test_tunnel
t 'devices without Ethernet' test_links
