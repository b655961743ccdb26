#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A leaky bucket at egress under the qdisc fq: what leaves comes evenly, and only what would have to wait
# for too long is dropped. And --fq: put there, taken away, and what was there before put back.
source "$(dirname "$0")/../../lib.sh"

PACE=$TOP/build/pace

qdiscs() { tc -n "$(ns A)" qdisc show dev veth-A; }
root_is() { has "$1" qdiscs; }

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

# ---- --fq

test_put() {
	local before
	before=$(qdiscs) && rl A attach veth-A --hook egress --fq && root_is 'fq 726c:' || return
	expect_silent rl A rule add any limit leaky-bucket 10/second && rl A detach veth-A &&
		is "$(qdiscs)" "$before"
}
expect_silent() { is "$("$@" 2>&1)" ''; }

# What somebody configured comes back with its numbers.
test_restored() { # QDISC…
	local before status=0
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: "$@" && before=$(qdiscs) || return
	rl A attach veth-A --hook egress --fq && root_is 'fq 726c:' && rl A detach veth-A &&
		is "$(qdiscs)" "$before" || status=1
	tc -n "$(ns A)" qdisc del dev veth-A root && return "$status"
}

# What could not be put back is not touched.
test_refused() {
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: mq || return
	has 'could not restore' expect_status 1 rl A attach veth-A --hook egress --fq && root_is 'mq 77:' &&
		[[ ! -e $(ns_pins A) ]] && tc -n "$(ns A)" qdisc del dev veth-A root
}

# An fq of somebody else's stays; one that somebody put in the place of ours as well.
test_others() {
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: fq || return
	has 'has fq already' rl A attach veth-A --hook egress --fq &&
		expect_silent rl A rule add any limit leaky-bucket 10/second && rl A detach veth-A &&
		root_is 'fq 77:' && tc -n "$(ns A)" qdisc del dev veth-A root || return
	rl A attach veth-A --hook egress --fq && tc -n "$(ns A)" qdisc replace dev veth-A root handle 78: pfifo &&
		has 'without the qdisc fq' rl A rule add any limit leaky-bucket 10/second &&
		rl A detach veth-A && root_is 'pfifo 78:' && tc -n "$(ns A)" qdisc del dev veth-A root
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B || exit 1
t '--fq, where the default was' test_put
t '--fq, where pfifo was' test_restored pfifo limit 17
t '--fq, where mq is' test_refused
t 'an fq of somebody else' test_others
rl A attach veth-A --hook egress --fq || exit 1
t 'a burst leaves evenly' test_even '1000/second queue 200' 200 1000000
t 'a burst leaves evenly, in bytes' test_even '1136kbit queue 100kbyte' 200 1000000
t 'only what waits for too long is dropped' test_dropped
t 'under two buckets' test_two
t 'TCP, 10 Mbit' test_tcp 10mbit 1250000
t 'TCP, 100 Mbit' test_tcp 100mbit 12500000
rl A detach veth-A
