#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The flood does not affect senders within their limit: a paced TCP transfer from an allowed host, and pings
# from a host that keeps within the same limit. The flood leaves room on the cable and on the CPUs: the
# limiter is tested, not the machine. check: processor
source "$(dirname "$0")/../lib.sh"

RATE=100000 # of the flood, packets per second
PACE=40     # of the transfer, mbit/s: 13k segments in four seconds

# transfer ADDRESS: sets BYTES and RETRANSMITS of four seconds.
transfer() {
	local result
	result=$(in_ns A iperf3 --client "$1" --time 4 --bitrate "${PACE}M" --json) || return
	jq -c '.end | .sum_sent, .sum_received' <<<"$result"
	BYTES=$(json .end.sum_received.bytes <<<"$result")
	RETRANSMITS=$(json .end.sum_sent.retransmits <<<"$result")
}

flooding() { [[ $(stat_of B .dropped.packets) -gt $1 ]]; }

# flood_start ARG…: a flood from spoofed sources is under way.
flood_start() {
	local before
	before=$(stat_of B .dropped.packets) && bg flood A --seconds 60 --rate "$RATE" --batch 16 "$@" &&
		eventually 5 flooding $((before + RATE / 10))
}

flood_end() {
	kill -TERM -- "-$BG_PID" && wait "$BG_PID"
	true
}

test_peace() { # ADDRESS
	transfer "$1" && [[ $BYTES -gt 0 ]] && PEACE=$BYTES
}

# Throughput within 20 % of that without a flood, and hardly any retransmissions: under 1 %, allowed for a
# busy machine, since the limiter drops none.
test_transfer() { # ADDRESS PREFIX FLOOD-ARG…
	local before status
	before=$(stat_of B .dropped.packets) && flood_start "${@:3}" || return
	transfer "$1"
	status=$?
	flood_end
	rl B stats && [[ $status -eq 0 ]] || return
	between "$BYTES" $((PEACE * 8 / 10)) $((PEACE * 12 / 10)) && between "$RETRANSMITS" 0 130 &&
		is "$(rule_stat B "$2" .dropped.packets)" 0 &&
		[[ $(rule_stat B "$2" .passed.packets) -gt 1000 ]] &&
		[[ $(stat_of B .dropped.packets) -gt $((before + 3 * RATE)) ]] # it was in the flood
}

# A host under the same limit as each of the flood's sources, and within it, loses nothing to the limiter: two
# of a hundred may be lost in the ring.
test_limited() { # ADDRESS FLOOD-ARG…
	local status
	flood_start "${@:2}" || return
	in_ns A ping -c 100 -i 0.02 -W 2 "$1"
	status=$?
	flood_end
	rl B stats && [[ $status -eq 0 ]] && grep -qE ' (98|99|100) received' "$TMP/out"
}

POLICY='rule 10.77.0.1 tcp allow
rule fd77::1 tcp allow
rule any limit 100/second burst 50'

veth_pair A B && veth_quiet A B && rl B attach veth-B && rl B apply - <<<"$POLICY" && serve B || exit 1
# A queue before the veth's short ring, which would otherwise drop packets when full.
tc -n "$(ns A)" qdisc add dev veth-A root pfifo limit 1000 || exit 1
t 'TCP in peace' test_peace 10.77.0.2
t 'TCP beside a flood from one source' test_transfer 10.77.0.2 10.77.0.1 --src 10.78.0.1
t 'TCP beside a flood from its own address' test_transfer 10.77.0.2 10.77.0.1 --src 10.77.0.1
t 'TCP over IPv6 in peace' test_peace fd77::2
t 'TCP over IPv6 beside a flood' test_transfer fd77::2 fd77::1 --src fd78::/60
t 'within its limit beside a flood from one source' test_limited 10.77.0.2 --src 10.78.0.1
t 'within its limit beside a flood from sixty-four' test_limited 10.77.0.2 --src 10.78.0.0/26
t 'within its limit, IPv6' test_limited fd77::2 --src fd78::/60
