#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits in bytes at egress as real sockets see them: iperf3 over UDP and TCP, which offer more than a
# limit admits, gets what that allows. Its control connection is TCP and small. check: processor
source "$(dirname "$0")/../lib.sh"

# one_rule PREFIX RULE: the whole policy, with fresh state and counters.
one_rule() {
	PREFIX=$1
	rl A rule flush && rl A apply - <<<"rule $1 $2" && rl A show
}

# arrived Udp|Udp6: datagrams that came to B's sockets, whether these had room or not.
arrived() { echo $(($(counter B "$1InDatagrams") + $(counter B "$1InErrors"))); }

# The packets that passed are those the server received.
test_udp() { # ADDRESS Udp|Udp6
	local result before
	one_rule "$1" "udp limit 20mbit burst 250kbyte" && before=$(arrived "$2") || return 1
	result=$(in_ns A iperf3 --client "$1" --udp --bitrate 60M --length 1400 --time 2 --json) || return 1
	jq .end.sum_received <<<"$result" && rl A stats || return 1
	is $(($(arrived "$2") - before)) "$(rule_stat A "$PREFIX" .passed.packets)" &&
		admitted "$(rule_stat A "$PREFIX" .passed.bytes)" 2500000 250000 \
			"$(json .end.sum.seconds <<<"$result")"
}

# Eight connections always have more to send. Once the burst is spent, they get the rate, less the headers of
# full segments; the passed packets show that it is no more. The burst has to last for as long as TCP waits
# when a whole window is lost, 0.2 s.
test_tcp() { # ADDRESS HEADERS
	local result start end passed allowed got
	one_rule "$1" "tcp limit 40mbit burst 2mbyte" && start=$(date +%s%3N) || return 1
	result=$(in_ns A iperf3 --client "$1" --parallel 8 --congestion cubic --omit 1 --time 3 --json) || return 1
	end=$(date +%s%3N) passed=$(rule_stat A "$PREFIX" .passed.bytes)
	jq '.end | .sum_sent, .sum_received' <<<"$result" && rl A stats || return 1
	between "$passed" 1 $((2000000 + 5000 * (end - start + 10))) || return 1
	allowed=$(json "5000000 * (1500 - $2) / 1514 | round" <<<"$result")
	got=$(json '.end.sum_received | .bytes / .seconds | round' <<<"$result")
	[[ $got -ge $((allowed * 98 / 100)) ]] || { _say "got $got, wanted 98 % of $allowed" || return 2; }
}

veth_pair A B && veth_quiet A B && rl A attach veth-A --hook egress && serve B || exit 1
t 'UDP, IPv4' patiently test_udp 10.77.0.2 Udp
t 'UDP, IPv6' patiently test_udp fd77::2 Udp6
t 'TCP, IPv4' patiently test_tcp 10.77.0.2 52
t 'TCP, IPv6' patiently test_tcp fd77::2 72
