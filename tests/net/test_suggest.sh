#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl suggest from a device: real senders, what is printed, how it ends. check: timeout 200
# tests/prog/test_suggest.sh has captures, tests/unit/test_suggest.c the statistics.
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

veth_pair A B && veth_quiet A B && rl B attach veth-B >"$TMP/attached" || exit 1

# About 500 datagrams a second to each of two ports, over both families.
cat >"$TMP/send.py" <<'END'
import socket, time
four, six = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for turn in range(6000):
    for i in range(5):
        four.sendto(b'x' * 40, ('10.77.0.2', 53))
        six.sendto(b'x' * 40, ('fd77::2', 5060))
    time.sleep(.01)
END

no_packets() {
	local output
	ns_new C && rl C attach lo --mode generic || return
	output=$(expect_status 1 rl C suggest --for 15s 2>&1) && is "$output" 'rlctl: lo: no packets arrived: try again while clients are served'
}

# Three at once, of the four that may watch.
bg in_ns A python3 "$TMP/send.py"
rl B suggest -j --for 18s >"$TMP/timed.json" 2>"$TMP/timed.err" &
TIMED=$!
rl B suggest --rate 50 -j --for 15s >"$TMP/thinned.json" 2>"$TMP/thinned.err" &
THINNED=$!
"$RLCTL" -n "$(ns B)" suggest >"$TMP/stopped" 2>"$TMP/stopped.err" &
STOPPED=$!
sleep 8
kill -TERM "$STOPPED" # a background job ignores SIGINT

stopped() {
	wait "$STOPPED" && "$RLCTL" apply --check "$TMP/stopped" &&
		has 'rule any udp dport 53 limit ' cat "$TMP/stopped"
}

# Every packet is a sample.
timed() {
	wait "$TIMED" || return
	is "$(json -c '[.rules[] | select(.of == "source") | .match]' <"$TMP/timed.json")" \
		'["udp dport 53","udp dport 5060",""]' &&
		json '.packets == .samples and .rules[0].peaks["10s"].error == 0' <"$TMP/timed.json" || return
	json -r .policy <"$TMP/timed.json" | rl B apply - && is "$(stat_of B .dropped.packets)" 0
}

# Few of many packets are samples: the error of the numbers is said.
thinned() {
	wait "$THINNED" &&
		json '.packets > 5 * .samples and (.rules[0].peaks | .["1s"].error > 0 and .["1s"].error < .["1s"].highest * 3 and .["10s"].error < .["10s"].highest)' <"$TMP/thinned.json"
}

# All that is known by then is printed if the instance is detached.
detached() {
	local pid
	"$RLCTL" -n "$(ns B)" suggest >"$TMP/detached" 2>"$TMP/detached.err" &
	pid=$!
	sleep 3
	rl B detach veth-B && wait "$pid" && is "$(<"$TMP/detached.err")" 'rlctl: veth-B: no longer attached' &&
		"$RLCTL" apply --check "$TMP/detached" && has 'rule any udp dport 5060 limit ' cat "$TMP/detached"
}

t 'ended by a signal' stopped
t 'with every packet a sample' timed
t 'with few samples' thinned
t 'without packets' no_packets
t 'detached meanwhile' detached
