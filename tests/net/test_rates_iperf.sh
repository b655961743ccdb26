#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Rates as real sockets see them: iperf3 over UDP and TCP, which offer more than a limit admits. Its
# control connection is TCP, so that a rule for UDP leaves it alone. check: processor
source "$(dirname "$0")/../lib.sh"

# one_rule PREFIX RULE: the whole policy, with fresh state and counters.
one_rule() {
	PREFIX=$1
	rl B rule flush && rl B apply - <<<"rule $1 $2" && rl B show
}

# The packets that passed are those that came to the server's socket, which has no room for some of them while the server
# waits for a processor; iperf3 does not count its first datagram.
test_udp() { # COUNTERS ADDRESS PREFIX
	local result before passed
	one_rule "$3" "udp limit 20mbit burst 250kbyte" && before=$(came "$1") || return 1
	result=$(in_ns A iperf3 --client "$2" --udp --bitrate 60M --length 1400 --time 4 --json) || return 1
	jq .end.sum_received <<<"$result" && rl B stats || return 1
	passed=$(rule_stat B "$PREFIX" .passed.packets)
	is $(($(came "$1") - before)) "$passed" &&
		between "$(json '.end.sum_received.bytes / 1400' <<<"$result")" 1 $((passed - 1)) &&
		admitted "$(rule_stat B "$PREFIX" .passed.bytes)" 2500000 250000 \
			"$(json .end.sum.seconds <<<"$result")"
}

came() { echo $(($(counter B "$1InDatagrams") + $(counter B "$1RcvbufErrors"))); } # Udp|Udp6

# Sixteen connections ask for more at any time; the burst gives them time to find their windows.
test_tcp() { # ADDRESS PREFIX
	local result start end passed
	one_rule "$2" "tcp limit 40mbit burst 1mbyte" && start=$(date +%s%3N) || return 1
	result=$(in_ns A iperf3 --client "$1" --parallel 16 --congestion cubic --time 5 --json) || return 1
	end=$(date +%s%3N) passed=$(rule_stat B "$PREFIX" .passed.bytes)
	jq '.end | .sum_sent, .sum_received' <<<"$result" && rl B stats || return 1
	between "$passed" 1 $((1000000 + 5000 * (end - start + 10))) || return 1
	[[ $passed -ge $((1000000 + 5000000 * 5 * 99 / 100)) ]] || return 2 # the sender was kept waiting
	between "$(json .end.sum_received.bytes <<<"$result")" $((5000000 * 5 * 95 / 100)) "$passed"
}

veth_pair A B && veth_quiet A B && rl B attach veth-B && serve B || exit 1
t 'UDP, IPv4' patiently test_udp Udp 10.77.0.2 10.77.0.1
t 'UDP, IPv6' patiently test_udp Udp6 fd77::2 fd77::1
t 'TCP, IPv4' patiently test_tcp 10.77.0.2 10.77.0.1
t 'TCP, IPv6' patiently test_tcp fd77::2 fd77::1
