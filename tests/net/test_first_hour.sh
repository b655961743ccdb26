#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The first hour with README.md: its section "Protect a device" is typed as it is written, and then a machine with real
# software is behind it: it downloads, it resolves for others through an upstream, it serves a game and the web, in
# peace and beside floods. Each row has the loss as a figure; to be 0 it has three attempts, since a busy machine
# loses packets by itself. (test_readme.sh types the rest; tests/prog/test_examples.sh plays all policies.)
# check: processor
source "$(dirname "$0")/typed.sh"
# shellcheck source=tests/net/dns.sh
source "$(dirname "$0")/dns.sh"

GAMERS=() SEEKERS=(10.77.0.31 10.77.0.32 10.77.0.33 10.77.0.34) VISITOR=10.77.0.40 UPSTREAM=192.0.2.1
for i in {101..116}; do GAMERS+=("10.77.0.$i"); done
SECONDS_EACH=3 QUERIES=900 # a second, of each of the SEEKERS

# ---- the world, A, and the machine, B

addresses() {
	local address
	for address in "${GAMERS[@]}" "${SEEKERS[@]}" "$VISITOR" "$UPSTREAM"; do
		ip -n "$(ns A)" addr add "$address/32" dev veth-A || return
	done
	ip -n "$(ns B)" addr add 10.77.0.2/24 dev eth0 2>/dev/null
	ip -n "$(ns B)" route add default via 10.77.0.1 && tc -n "$(ns A)" qdisc add dev veth-A root pfifo limit 1000
}

services() {
	mkdir "$TMP/www" && serve A &&
		resolver A "$UPSTREAM" ' local-zone: "example." redirect' ' local-data: "example. 60 A 192.0.2.80"' &&
		resolver B 10.77.0.2 'forward-zone:' ' name: "."' " forward-addr: $UPSTREAM" || return
	bg in_ns B nice -n -10 python3 "$TOP/tests/net/players.py" serve 27015
	bg in_ns B nice -n -10 python3 -m http.server 80 --directory "$TMP/www"
	eventually 5 listens B 27015 && eventually 5 listens B 80
}

# ---- clients; each says SENT LOST

play() {
	in_ns A nice -n -10 python3 "$TOP/tests/net/players.py" play 10.77.0.2 27015 "$SECONDS_EACH" "${GAMERS[@]}" |
		json '"\(.sent) \(.lost)"'
}

# ask NAME: names that the resolver does not know yet.
ask() {
	local i jobs=()
	for i in "${!SEEKERS[@]}"; do
		seq -f "n%.0f-$1-$i.example A" $((QUERIES * SECONDS_EACH * 2)) >"$TMP/queries.$i"
		in_ns A nice -n -5 dnsperf -s 10.77.0.2 -a "${SEEKERS[i]}" -d "$TMP/queries.$i" -l "$SECONDS_EACH" -Q "$QUERIES" \
			-q 2000 >"$TMP/dnsperf.$i" 2>&1 &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	dnsperf_sum "$TMP"/dnsperf.*
}

visit() {
	local requests=$((SECONDS_EACH * 50))
	in_ns A curl -s --interface "$VISITOR" --max-time 30 --rate 50/s -o /dev/null -w '%{http_code}\n' \
		"http://10.77.0.2/?[1-$requests]" >"$TMP/visits"
	echo $requests $((requests - $(grep -cx 200 "$TMP/visits")))
}

# together NAME: all of them at once.
together() {
	local jobs=()
	play >"$TMP/result.players" & jobs+=($!)
	ask "$1" >"$TMP/result.queries" & jobs+=($!)
	visit >"$TMP/result.requests" & jobs+=($!)
	wait "${jobs[@]}"
}

lost_nothing() { is "$(awk '{ print $2 }' "$TMP/result.$1")" 0; }

# beside NAME [FLOOD-ARG… [-- FLOOD-ARG…]]: clients during these floods; a row for each kind of them.
beside() {
	local name=$1 attempt who
	shift
	for attempt in 1 2 3; do
		floods_begin "$@"
		together "${name// /-}-$attempt"
		floods_end
		if [[ $(cat "$TMP"/result.* | awk '{ lost += $2 } END { print lost }') == 0 ]]; then break; fi
	done
	for who in players queries requests; do
		t "$name: $who lost $(awk '{ print $2 " of " $1 }' "$TMP/result.$who")" lost_nothing "$who"
	done
	[[ $# -eq 0 ]] || t "$name: the limiter dropped $FLOODED packets" between "$FLOODED" 200000 10000000
}

FLOODS=() DROPPED=0 FLOODED=0 # packets: before these floods, and of them

floods_begin() {
	local words=() word
	FLOODS=() DROPPED=$(stat_of B .dropped.packets)
	for word in "$@" ${1:+--}; do
		[[ $word == -- ]] || { words+=("$word") && continue; }
		bg flood A "${words[@]}" --seconds $((SECONDS_EACH + 1)) "${SMOOTH[@]}"
		FLOODS+=("$BG_PID") words=()
	done
	[[ $# -eq 0 ]] || sleep 0.5
}

floods_end() {
	[[ ${#FLOODS[@]} -eq 0 ]] || wait "${FLOODS[@]}"
	FLOODED=$(($(stat_of B .dropped.packets) - DROPPED))
}

# ---- the rows

# download: sets MBITS, which is this machine's, and what became of the packets of its first second or more. Data that
# arrives after its end, when the client has closed, is none of it.
download() {
	local passed dropped job
	passed=$(stat_of B .passed.packets) && dropped=$(stat_of B .dropped.packets) || return
	in_ns B iperf3 --client 10.77.0.1 --reverse --time 4 --json >"$TMP/download" & job=$!
	eventually 5 has_begun "$passed"
	sleep 1
	LOST=$(($(stat_of B .dropped.packets) - dropped)) PASSED=$(($(stat_of B .passed.packets) - passed))
	wait "$job"
	MBITS=$(json '.end.sum_received.bits_per_second / 1e6 | floor' <"$TMP/download")
}
has_begun() { [[ $(stat_of B .passed.packets) -gt $(($1 + 100)) ]]; }

typed_place && addresses && services || exit 1
mapfile -t lines < <(section "$TOP/README.md" 'Protect a device' | blocks)
t 'the commands are found' between "${#lines[@]}" 5 10
for line in "${lines[@]}"; do
	t "$line" typed_as_meant "$line"
done
download
t "a download: $MBITS Mbit/s, lost $LOST beside $PASSED" is "$LOST $((PASSED > 1000))" '0 1'
# Without the word the same limit lets through its burst and its rate, here 2000 + 1000 of 1514 bytes.
sparing=$(printf '%s\n' "${lines[@]}" | grep -m 1 'unless established')
t 'the same limit, sparing nothing' typed "${sparing%% over *}"
download
t "a download under it: $MBITS Mbit/s, lost $LOST beside $PASSED" is "$((LOST > 0)) $((PASSED < 10000))" '1 1'
t 'and sparing again' typed "$sparing"
beside peace
beside 'beside forged addresses' --src 11.0.0.0/8 --dport 27015 --rate 100000 -- \
	--src 12.0.0.0/8 --dport 80 --proto tcp-syn --rate 50000 -- --src 13.0.0.0/8 --dport 53 --rate 50000
beside 'beside four sources' --src 11.0.0.0/30 --dport 27015 --rate 100000 -- --src 12.0.0.0/30 --dport 53 --rate 50000
