#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The reports on packets that are established: statistics, monitor, explain, rule get and source show beside an
# open connection whose packets a limit spares. Which packets are is tested elsewhere.
source "$(dirname "$0")/../lib.sh"

RULE='any tcp limit 3/hour burst 3 over drop unless established'
POLICY=$'rule any limit 1000000/second\nrule '$RULE

# A listener in B that keeps one connection open, and a client in A that sends a line for each line of the FIFO.
connect() {
	bg in_ns B python3 -c 'import socket
s = socket.create_server(("10.77.0.2", 7000))
c = s.accept()[0]
while c.recv(99):
    pass'
	eventually 5 listens B 7000 || return
	mkfifo "$TMP/lines"
	bg in_ns A bash -c "exec 3<>/dev/tcp/10.77.0.2/7000; cat <>'$TMP/lines' >&3"
	eventually 5 connected
}

connected() { in_ns B ss -Htn 'sport = :7000' | grep -q ESTAB; }

# Packets of the connection, more than the limit lets through.
send() {
	for _ in {1..9}; do
		echo line >"$TMP/lines"
		sleep 0.01
	done
}

spared() { (($(stat_of B .reasons.established.packets) > 0)); }

test_stats() {
	send && eventually 5 spared && is "$(stat_of B .reasons.over.packets)" 0 &&
		is "$(rule_stat B "$RULE" .shadow.packets)" "$(stat_of B .reasons.established.packets)" &&
		has 'spared' rl B stats && rl B stats --prometheus | grep -q 'passed_packets_total{.*reason="established"} [1-9]'
}

test_heading() {
	rl B apply - <<<$'rule any udp limit 3/hour over count' && has ' shadow ' rl B stats && lacks 'spared' rl B stats &&
		rl B apply - <<<"$POLICY"$'\nrule any udp limit 3/hour over count' && has 'shadow/spared' rl B stats &&
		rl B apply - <<<"$POLICY"
}

lacks() { ! "${@:2}" | grep -q "$1"; }

verdict() { rl B explain -j 10.77.0.1 tcp dport 7000 "$@" | jq -r '"\(.verdict) \(.reason) \(.depends | join(","))"'; }

test_explain() {
	send && is "$(verdict)" 'drop over established' && is "$(verdict established)" 'pass established ' &&
		is "$(verdict not established)" 'drop over ' && is "$(verdict syn)" 'drop over ' &&
		has 'spared as it is established' rl B explain 10.77.0.1 tcp dport 7000 established &&
		has 'dropped unless it is established' rl B explain 10.77.0.1 tcp dport 7000
}

test_get() {
	has 'over the limit, those that a socket proves established pass' rl B rule get 10.77.0.1 &&
		rl B rule add 10.77.0.1 udp sport 53 not established deny &&
		has 'drops matching packets, unless a socket of this machine proves them established' rl B rule get 10.77.0.1 &&
		rl B rule del 10.77.0.1 udp sport 53 not established
}

test_get_open() {
	rl B rule add 10.77.0.1 udp ttl 1-9 payload 4 ff deny && rl B rule add 10.77.0.1 udp filter '"greater 200"' deny &&
		has 'drops matching packets, depending on ttl, payload' rl B rule get 10.77.0.1 &&
		has 'drops matching packets, depending on filter' rl B rule get 10.77.0.1 &&
		rl B rule del 10.77.0.1 udp ttl 1-9 payload 4 ff && rl B rule del 10.77.0.1 udp filter '"greater 200"'
}

test_source() {
	is "$(rl B source show -j 10.77.0.1 | jq -c .sockets)" '{"tcp":1,"udp":0}' &&
		is "$(rl B source show -j 10.77.0.9 | jq -c .sockets)" '{"tcp":0,"udp":0}' &&
		has '1 open TCP connection and 0 connected UDP sockets with 10.77.0.1' rl B source show 10.77.0.1
}

# An alarm that asks who is established looks that up first: the refusal of other packets of the source, which is remembered,
# does not hold for the connection's.
test_alarm() {
	local before
	rl B apply - <<<$'rule any limit 1/hour burst 1 over drop unless established\nalarm a when not established over 9k/second for 1s until under 1k/second for 1s' &&
		before=$(stat_of B .reasons.established.packets) || return
	for _ in {1..5}; do
		in_ns A ping -c 3 -i 0.01 -W 0.1 10.77.0.2
		send
	done
	eventually 5 spared_since $((before + 40)) && rl B apply - <<<"$POLICY"
}
spared_since() { (($(stat_of B .reasons.established.packets) >= $1)); }

# Where no rule asks, the sockets are not looked at.
test_source_unasked() {
	rl B apply - <<<'rule any limit 3/hour over count' && is "$(rl B source show -j 10.77.0.1 | jq -c .sockets)" null &&
		rl B apply - <<<"$POLICY"
}

test_monitor() {
	bg bash -c "exec '$RLCTL' -n '$(ns B)' monitor --reason established --seconds 20 >'$TMP/monitor'"
	eventually 5 watched && grep -q "established .*, rule $RULE" "$TMP/monitor"
}

watched() {
	send
	[[ -s $TMP/monitor ]]
}

veth_pair A B && veth_quiet A B && rl B attach veth-B && connect && rl B apply - <<<"$POLICY" || exit 1
t 'statistics' test_stats
t 'headings of what passes over a limit' test_heading
t 'explain' test_explain
t 'rule get' test_get
t 'rule get: matches that an address leaves open' test_get_open
t 'source show' test_source
t 'source show where no rule asks' test_source_unasked
t 'monitor' test_monitor
t 'an alarm asks first' test_alarm
