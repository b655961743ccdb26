#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The price of asking whether a packet is established: floods that a rule denies because they are, or because they
# are not, beside one that denies all alike, in turns and within one run, at 1, 1,024 and 65,536 sockets. Prints a
# table, writes docs/proof.json and has figures.py write docs/performance.md; OUT=DIR writes both there instead.
# ROUNDS (5) and MS (150, of one flood) make it longer or shorter. Needs root; `make bench-proof` builds what it needs.
ROUNDS=${ROUNDS:-5}
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1

LOCAL=10.77.0.2 # flood sends there, to port 9
PEERS=10.0.0.0 STRANGERS=10.128.0.0
no_arguments "$@"

# candidate: policy, protocol of its flood, whose addresses
declare -A POLICY=() PROTO=() FROM=() OPTIONS=()
row() { # NAME PROTO FROM POLICY ATTACH-OPTION…
	POLICY[$1]=$4 PROTO[$1]=$2 FROM[$1]=$3 OPTIONS[$1]=${*:5}
}
row tcp-deny tcp-ack "$PEERS" 'rule any tcp deny'
row tcp-hit tcp-ack "$PEERS" 'rule any tcp established deny'
row tcp-miss tcp-ack "$STRANGERS" 'rule any tcp not established deny'
row tcp-limit tcp-ack "$STRANGERS" 'rule any limit 1/hour burst 1'
row tcp-spare tcp-ack "$STRANGERS" 'rule any limit 1/hour burst 1 over drop unless established'
row tcp-syn tcp-syn "$STRANGERS" 'rule any tcp not established deny'
row ct-hit tcp-ack "$PEERS" 'rule any tcp established deny' --state conntrack
row ct-miss tcp-ack "$STRANGERS" 'rule any tcp not established deny' --state conntrack
row udp-deny udp "$PEERS" 'rule any udp deny'
row udp-hit udp "$PEERS" 'rule any udp established deny'
row udp-miss udp "$STRANGERS" 'rule any udp not established deny'
TCP=(bare tcp-deny tcp-hit tcp-miss tcp-limit tcp-spare tcp-syn ct-hit ct-miss)
UDP=(bare udp-deny udp-hit udp-miss)

# The machine's address is on every cable, so that it answers and asks through each; its peers are addresses of A.
home() {
	ip -n "$(ns A)" addr add 10.77.0.1/24 dev lo && ip -n "$(ns A)" route add local 10.128.0.0/9 dev lo &&
		in_ns B sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_local_port_range='50000 60999'
}

setup() {
	local name
	say 'setting up'
	ns_new A B || die 'cannot make network namespaces'
	in_ns B nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c ct state new' ||
		die 'no connection tracking'
	if ! home || ! link "$LOCAL" 10.0.0.0/9; then
		die 'cannot set the addresses'
	fi
	helper bare "$RECEIVER" --bare
	for name in "${!POLICY[@]}"; do
		# shellcheck disable=SC2086 # words
		limiter "$name" "${POLICY[$name]}" ${OPTIONS[$name]}
	done
	ip -n "$(ns B)" link set b-udp-hit arp off || die 'cannot set b-udp-hit'
}

# hold NS ARG…: sockets, until release.
hold() {
	set -m # a process group, so that all of it can be ended
	in_ns "$1" python3 tests/bench/sockets.py "${@:2}" >"$TMP/sockets-$1" 2>&1 </dev/null &
	set +m
	HOLDERS+=("$!")
}
HOLDERS=()
ready() { grep -q ready "$TMP/sockets-$1"; }
release() {
	local holder
	for holder in "${HOLDERS[@]}"; do
		kill -- "-$holder" 2>/dev/null
		wait "$holder" 2>/dev/null
	done
	HOLDERS=()
}

# one NAME PROTO SOCKETS ROUND FLOOD-ARG…: its flood, into PPS.
one() {
	flood_one "$1" --proto "${PROTO[$1]:-$2}" --src "${FROM[$1]:-$PEERS}/$((32 - $(bits "${SOURCES:-$3}")))" --cpu "$CPU" --seed "$4" \
		--count "${FRAMES[$1]}" "${@:5}"
}

# turns PROTO SOCKETS CANDIDATE…
turns() {
	local proto=$1 n=$2 round name before
	local -A FRAMES=() TOTAL=() BEFORE=()
	shift 2
	say "$proto, $n sockets: $*"
	for name in "$@"; do
		FRAMES[$name]=$((2 * n + 50000)) # each source has spent its burst
		one "$name" "$proto" "$n" 0 --sequential
		FRAMES[$name]=$(frames_for "$PPS") TOTAL[$name]=0
		BEFORE[$name]=$(dropped "$name")
	done
	for ((round = 1; round <= ROUNDS; round++)); do
		for name in "$@"; do
			one "$name" "$proto" "$n" "$round"
			record "$proto/$n" "$n" "$name" "$round" "$PPS"
		done
	done
	for name in "${@:2}"; do
		before=${BEFORE[$name]}
		[[ $(($(dropped "$name") - before)) -ge $((TOTAL[$name] * 99 / 100)) ]] ||
			die "$name has not dropped what it is to drop: $(($(dropped "$name") - before)) of ${TOTAL[$name]}"
	done
}

tcp() {
	local n=$1
	hold B listen "$LOCAL" 9 "$n"
	eventually 10 listening || die 'nobody listens'
	hold A connect "$LOCAL" 9 "$PEERS" 40000 "$n"
	if ! eventually 60 ready A || ! eventually 10 ready B; then
		die "no $n connections: $(tail -n 2 "$TMP"/sockets-?)"
	fi
	turns tcp-ack "$n" "${TCP[@]}"
	release
}

# The machine asks each peer by the cable whose limiter is to know it: no more than its table holds.
udp() {
	local n=$1 peers=$(($1 < 4096 ? $1 : 4096))
	ip -n "$(ns B)" route replace 10.0.0.0/9 dev b-udp-hit || die 'cannot set the route'
	hold B udp "$LOCAL" 9 "$PEERS" 40000 "$peers" "$n"
	eventually 30 ready B || die "no $n sockets: $(tail -n 2 "$TMP/sockets-B")"
	SOURCES=$peers turns udp "$n" "${UDP[@]}"
	release
	ip -n "$(ns B)" route replace 10.0.0.0/9 via 10.78.0.1
}

trap 'release; _cleanup' EXIT
setup
for n in ${SOCKETS:-1 1024 65536}; do
	tcp "$n"
	udp "$n"
done
policies=()
for name in "${!POLICY[@]}"; do
	who=peers
	[[ ${FROM[$name]} == "$PEERS" ]] || who=strangers
	policies+=("$name=${POLICY[$name]}${OPTIONS[$name]:+; attach ${OPTIONS[$name]}}|${PROTO[$name]} of $who")
done
publish proof "${policies[@]}"
