#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A leaky bucket at egress under the qdisc fq: packets leave evenly, and only those that would have to wait
# too long are dropped. test_qdisc.sh tests how fq is set up.
source "$(dirname "$0")/../../lib.sh"

PACE=$TOP/build/pace

# ---- gaps

# burst COUNT: COUNT datagrams all at once; RESULT is how they came.
burst() {
	bg_to "$TMP/result" in_ns B "$PACE" listen "$1"
	eventually 5 listens udp && in_ns A "$PACE" send 10.77.0.2 "$1" 100 && wait_for "$BG_PID" || return
	RESULT=$(<"$TMP/result") && echo "$RESULT"
}
bg_to() { # FILE CMD…
	local file=$1
	shift
	"$@" >"$file" 2>"$TMP/bg" </dev/null &
	BG_PID=$!
	_jobs+=("$BG_PID")
}
wait_for() { wait "$1"; }
listens() { in_ns B ss -Hln --"$1" 'sport = :9009' | grep -q 9009; }

# even PACKETS GAP_NS: so many came; 99 of 100 gaps within 10 %, and the rate within 1 %.
even() {
	local packets span p1 p99
	read -r packets span p1 p99 <<<"$(json '"\(.packets) \(.span_ns) \(.p1_ns) \(.p99_ns)"' <<<"$RESULT")"
	is "$packets" "$1" && between "$p1" $(($2 * 90 / 100)) $(($2 * 110 / 100)) &&
		between "$p99" $(($2 * 90 / 100)) $(($2 * 110 / 100)) &&
		between $((span / (packets - 1))) $(($2 * 99 / 100)) $(($2 * 101 / 100))
}

# A rule of its own in each: state that is left would make the burst smaller.
test_even() { # RULE PACKETS GAP_NS
	rl A apply - <<<"rule 10.77.0.2 udp limit leaky-bucket $1" && burst 200 || return
	even "$2" "$3" && rl A rule flush
}

# While the burst comes the queue leaks already, so some more than 50 have room.
test_dropped() {
	local passed
	rl A apply - <<<"rule 10.77.0.2 udp limit leaky-bucket 1000/second queue 50" && burst 200 || return
	passed=$(rule_stat A 10.77.0.2 .passed.packets)
	between "$passed" 50 150 && even "$passed" 1000000 &&
		is "$(rule_stat A 10.77.0.2 .dropped.packets)" $((200 - passed)) && rl A rule flush
}

# Two buckets, of which the slower one counts.
test_two() {
	rl A apply - <<-'END' && burst 150 && even 150 2000000 && rl A rule flush
	rule 10.77.0.2 udp limit leaky-bucket 1000/second queue 300
	rule device udp limit leaky-bucket 500/second queue 150
	END
}

# ---- TCP: the queue is never full, so nothing is lost

test_tcp() { # RATE BYTES_PER_SECOND
	local bytes span goodput
	rl A apply - <<<"rule 10.77.0.2 tcp limit leaky-bucket $1 queue 300ms" || return
	bg_to "$TMP/result" in_ns B "$PACE" drain
	eventually 5 listens tcp && in_ns A "$PACE" stream 10.77.0.2 4 && wait_for "$BG_PID" || return
	cat "$TMP/result" && rl A stats
	read -r bytes span <<<"$(json '"\(.bytes) \(.span_ns)"' <"$TMP/result")"
	goodput=$((bytes * 1000 / (span / 1000000)))
	between "$goodput" $(($2 * 1448 * 95 / (1514 * 100))) $(($2 * 102 / 100)) &&
		is "$(rule_stat A 10.77.0.2 .dropped.packets)" 0 && rl A rule flush
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B || exit 1
rl A attach veth-A --hook egress --fq || exit 1
t 'a burst leaves evenly' test_even '1000/second queue 200' 200 1000000
t 'a burst leaves evenly, in bytes' test_even '1136kbit queue 100kbyte' 200 1000000
t 'only what waits for too long is dropped' test_dropped
t 'under two buckets' test_two
t 'TCP, 10 Mbit' test_tcp 10mbit 1250000
t 'TCP, 100 Mbit' test_tcp 100mbit 12500000
rl A detach veth-A
