#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every match of the language against packets of real senders (ping, hping3, nping, iperf3), IPv4 and IPv6:
# the count of each rule, and the replies that reached the sender.
source "$(dirname "$0")/../lib.sh"

# policy: standard input in force, with counters that start from zero.
policy() { rl B rule flush && rl B apply -; }

counts() { rule_stat B "$1" "\"\(.passed.packets) \(.dropped.packets)\""; }

arrived() { stat_of B '.passed.packets + .dropped.packets'; }

# counted RULE DROPPED LEAST: so many packets have arrived at least, and RULE counts so many of them.
counted() {
	rl B stats
	between "$(arrived)" "$3" 1000000 && is "$(counts "$1")" "0 $2"
}

# match RULE SENT DROPPED SENDER…: the count of a rule that denies, of so many packets of one sender; the
# sender may fail, since nothing replies.
match() {
	local rule=$1 sent=$2 dropped=$3 before
	shift 3
	policy <<<"rule $rule" && before=$(arrived) || return
	in_ns A "$@"
	eventually 5 counted "$rule" "$dropped" $((before + sent))
}

HPING='hping3 --quiet --interval u1000 --count 5'

# shellcheck disable=SC2086 # HPING and NPING6 are several words
test_matches() {
	t 'icmp' match 'any icmp deny' 4 4 ping -c 4 -i 0.01 -W 1 10.77.0.2
	t 'icmp6' match 'any icmp6 deny' 4 4 ping -c 4 -i 0.01 -W 1 fd77::2
	t 'icmp is not icmp6' match 'any icmp deny' 4 0 ping -c 4 -i 0.01 fd77::2
	t 'syn' match 'any tcp syn deny' 5 5 $HPING --syn --destport 80 10.77.0.2
	t 'syn and not ack' match 'any tcp syn deny' 5 0 $HPING --syn --ack --destport 80 10.77.0.2
	t 'ack is no syn' match 'any tcp syn deny' 5 0 $HPING --ack --destport 80 10.77.0.2
	t 'dport' match 'any tcp dport 80 deny' 5 5 $HPING --syn --destport 80 10.77.0.2
	t 'dport of another protocol' match 'any udp dport 80 deny' 5 0 $HPING --syn --destport 80 10.77.0.2
	t 'dport beside it' match 'any tcp dport 81-90 deny' 5 0 $HPING --syn --destport 80 10.77.0.2
	t 'dport range, both ends in it' match 'any udp dport 53-57 deny' 5 5 $HPING --udp --destport ++53 10.77.0.2
	t 'sport' match 'any udp sport 1234 deny' 5 5 $HPING --udp --keep --baseport 1234 10.77.0.2
	t 'sport range' match 'any udp sport 1234-1236 deny' 5 3 $HPING --udp --baseport 1234 10.77.0.2
	t 'gre' match 'any gre deny' 5 5 $HPING --rawip --ipproto 47 --data 32 10.77.0.2
	t 'esp' match 'any esp deny' 5 5 $HPING --rawip --ipproto 50 --data 32 10.77.0.2
	t 'proto N' match 'any proto 253 deny' 5 5 $HPING --rawip --ipproto 253 --data 32 10.77.0.2
	t 'src' match 'any src 10.77.0.1 deny' 4 4 ping -c 4 -i 0.01 -W 1 10.77.0.2
	t 'src of another' match 'any src 10.77.0.64/26 deny' 4 0 ping -c 4 -i 0.01 10.77.0.2
	t 'dst' match 'any dst 10.77.0.3 deny' 4 4 ping -c 4 -i 0.01 -W 1 10.77.0.3
	t 'dst of another' match 'any dst 10.77.0.3 deny' 4 0 ping -c 4 -i 0.01 10.77.0.2
	t 'dst, IPv6' match 'any dst fd77::3 deny' 4 4 ping -c 4 -i 0.01 -W 1 fd77::3
	t 'nping UDP' match 'any udp dport 53 deny' 5 5 nping --quiet --udp -p 53 -c 5 --delay 5ms 10.77.0.2
	t 'nping TCP' match 'any tcp dport 22 syn deny' 5 5 nping --quiet --tcp -p 22 -c 5 --delay 5ms 10.77.0.2
	t 'nping UDP, IPv6' match 'any udp dport 53 deny' 5 5 $NPING6 --udp -p 53 -c 5 --delay 5ms fd77::2
	t 'nping TCP, IPv6' match 'fd77::/64 tcp dport 22 syn deny' 5 5 $NPING6 --tcp -p 22 -c 5 --delay 5ms fd77::2
	t 'a spoofed source' match '10.78.0.9 deny' 5 5 $HPING --udp --spoof 10.78.0.9 10.77.0.2
	# 4008 bytes of ICMP over an MTU of 1500
	t 'fragments, the first included' match 'any fragment deny' 6 6 ping -c 2 -i 0.01 -W 1 -s 4000 10.77.0.2
	t 'fragments, IPv6' match 'any fragment deny' 6 6 ping -c 2 -i 0.01 -W 1 -s 4000 fd77::2
	t 'whole packets are no fragments' match 'any fragment deny' 2 0 ping -c 2 -i 0.01 -s 1400 10.77.0.2
	t 'fragments of a datagram' match 'any udp fragment deny' 10 10 $HPING --udp --data 2000 10.77.0.2
	t 'ports are in the first fragment only' match 'any udp dport 9 deny' 10 5 \
		$HPING --udp --keep --destport 9 --data 2000 10.77.0.2
}

# ---- which rule decides

# replies COUNT PING-ARG…: how many answers ping gets.
replies() {
	local wanted=$1
	shift
	in_ns A ping -i 0.01 -W 1 "$@" | tee /dev/stderr | grep -q " $wanted received"
}

test_longest_prefix() {
	policy <<-'END' || return
	rule any deny
	rule 10.77.0.0/24 allow
	rule 10.77.0.1 icmp deny
	rule fd77::/64 allow
	END
	replies 0 -c 3 10.77.0.2 && replies 3 -c 3 fd77::2 && is "$(counts 10.77.0.1)" '0 3' &&
		is "$(counts fd77::/64)" '3 0' && is "$(counts any)" '0 0' || return
	in_ns A hping3 --quiet --interval u1000 --count 5 --udp 10.77.0.2 # falls through to the /24
	eventually 5 prints '5 0' counts 10.77.0.0/24
}

test_allow_before_deny() {
	policy <<-'END' || return
	rule 10.77.0.1 deny
	rule 10.77.0.1 icmp allow
	rule 10.77.0.1 icmp limit 1/minute
	END
	replies 3 -c 3 10.77.0.2 && is "$(counts '10.77.0.1 icmp allow')" '3 0' &&
		is "$(counts '10.77.0.1 deny')" '0 0' && is "$(counts '10.77.0.1 icmp limit')" '0 0'
}

# Replies to the host's own packets, counted by ping, match the limit.
test_limit() { # ADDRESS PREFIX
	policy <<<"rule $2 limit 1/hour burst 4" && replies 4 -c 10 "$1" && is "$(counts "$2")" '4 6'
}

# All limits of a prefix must admit a packet, and device limits as well; a refused packet costs nothing.
test_all_limits() {
	policy <<-'END' || return
	rule any icmp limit 1/hour burst 3
	rule any limit 1/hour burst 5
	rule device limit 1/hour burst 20
	END
	replies 3 -c 10 10.77.0.2 && is "$(counts 'any icmp limit')" '3 7' &&
		is "$(counts 'any limit')" '3 0' &&
		is "$(counts device)" '3 0' || return
	in_ns A hping3 --quiet --interval u1000 --count 5 --udp 10.77.0.2
	is "$(counts 'any limit')" '5 3' && is "$(counts device)" '5 0'
}

test_expiry() {
	policy <<<'rule 10.77.0.1 deny for 6s' && replies 0 -c 2 10.77.0.2 &&
		eventually 10 replies 1 -c 1 10.77.0.2
}

test_tcp() {
	local result
	policy <<-'END' || return
	rule 10.77.0.1 tcp dport 5201 allow
	rule 10.77.0.1 deny
	END
	result=$(in_ns A iperf3 --client 10.77.0.2 --time 1 --bitrate 50M --json) || return
	[[ $(json .end.sum_received.bytes <<<"$result") -gt 1000000 ]] &&
		is "$(counts '10.77.0.1 deny')" '0 0' &&
		replies 0 -c 2 10.77.0.2 && rl B rule add 10.77.0.1 tcp dport 5201 deny || return
	expect_fail timeout 2 nsenter --net="/run/netns/$(ns A)" bash -c 'exec 3<>/dev/tcp/10.77.0.2/5201'
}

mac() { ip -n "$(ns "$1")" -j link show "veth-$1" | jq -r '.[0].address'; }

veth_pair A B && veth_quiet A B && ip -n "$(ns B)" addr add 10.77.0.3/24 dev veth-B &&
	ip -n "$(ns B)" addr add fd77::3/64 dev veth-B nodad && rl B attach veth-B && serve B || exit 1
# nping finds no IPv6 neighbour by itself
NPING6="nping -6 --quiet --send-eth -e veth-A --source-ip fd77::1 --source-mac $(mac A) --dest-mac $(mac B)"
test_matches
t 'the longest prefix decides' test_longest_prefix
t 'allow, then deny, then limits' test_allow_before_deny
t 'a limit, IPv4' test_limit 10.77.0.2 10.77.0.1
t 'a limit, IPv6' test_limit fd77::2 fd77::1
t 'all limits of a packet' test_all_limits
t 'a rule that expires' test_expiry
t 'TCP by its port' test_tcp
