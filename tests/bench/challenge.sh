#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Handshakes that clients complete beside floods of SYNs from forged sources, by what defends the server, in turns and
# within one run. Prints a table, writes docs/challenge.json and has figures.py write docs/performance.md; OUT=DIR
# writes both there instead. ROUNDS (2) and WINDOW (0.5, seconds of one turn) make it longer or shorter. Needs root and
# two CPUs; `make bench-challenge` builds what it needs.
#
# One cable with two queues, whose frames are received by the CPU that sends them. Clients and server have CPU 0. Apart,
# the flood is made on CPU 1 and received there, so that it shares neither a ring nor a core with the clients; together, it
# is made on CPU 0 as well. The answers to the flood are dropped where they arrive, and counted.
ROUNDS=${ROUNDS:-2}
WINDOW=${WINDOW:-0.5}
RATES=${RATES:-100000 250000 400000}
DEFENCES=${DEFENCES:-none kernel-1 kernel-2 synproxy drop challenge-1 challenge-2}
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1
no_arguments "$@"

ENDS=tests/net/handshakes.py
SOURCES=10.78.0.0/16
CLIENTS=8
LIMIT='rule any tcp syn limit 2000/second burst 200 per rule'
FILLS=8000 # SYNs, until the queue of 4,096 is full, or is not going to be

[[ $(nproc) -ge 2 ]] || die 'needs two CPUs'

# Where sessions share the CPUs evenly, nice counts within a session alone.
AUTOGROUP=/proc/$$/autogroup
session_nice() {
	[[ ! -w $AUTOGROUP ]] || echo "${1:-0}" >"$AUTOGROUP"
}

# The same of every candidate; each end has a program, so that veth takes its frames alike. That a client has been served
# before is not remembered: the kernel would let it in while the queue is full.
setup() {
	if ! veth_pair A B 2 || ! veth_quiet A B || ! cpu_queues; then
		die 'cannot make the cable'
	fi
	ip -n "$(ns B)" route add "$SOURCES" via 10.77.0.1
	in_ns A sysctl -qw net.ipv4.ip_local_port_range='1024 65535' || die 'cannot set up A'
	in_ns B sysctl -qw net.ipv4.tcp_max_syn_backlog=4096 net.core.somaxconn=4096 net.ipv4.tcp_timestamps=1 \
		net.ipv4.tcp_no_metrics_save=1 || die 'cannot set up B'
	synproxy # its settings are there once its rules are
	in_ns B sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 net.netfilter.nf_conntrack_tcp_timeout_close=1 ||
		die 'no connection tracking'
	rl A -q attach veth-A --mode native --policy - <<<"rule any dst $SOURCES deny" || die 'cannot attach in A'
	rl B -q attach veth-B --mode native || die 'cannot attach in B'
}

# Packets that A's CPU N sends by its stack go into queue N too.
cpu_queues() {
	local n
	for n in 0 1; do
		ip netns exec "$(ns A)" sh -c "echo $((1 << n)) >/sys/class/net/veth-A/queues/tx-$n/xps_cpus" || return
	done
}

synproxy() {
	in_ns B nft -f - <<-'END'
		table ip bench {
		  chain raw {
		    type filter hook prerouting priority raw
		    iif veth-B tcp dport 80 tcp flags & (fin|syn|rst|ack) == syn notrack
		  }
		  chain in {
		    type filter hook input priority filter
		    iif veth-B tcp dport 80 ct state invalid,untracked synproxy mss 1460 wscale 7 timestamp sack-perm
		    ct state invalid drop
		  }
		}
	END
}

defend() { # DEFENCE
	local cookies=${1##*-} policy=''
	in_ns B nft flush ruleset
	case $1 in
	none) cookies=0 ;;
	synproxy) cookies=1 && { synproxy || return; } ;;
	drop) cookies=1 policy=$LIMIT ;;
	challenge-*) policy="$LIMIT over challenge" ;;
	esac
	in_ns B sysctl -qw "net.ipv4.tcp_syncookies=$cookies" && rl B -q apply --yes - <<<"$policy" 2>/dev/null
}

# A server for each turn: with its socket goes what the flood of the last one left in the queue.
server_begin() {
	nsenter --net="/run/netns/$(ns B)" taskset -c 0 python3 "$ENDS" serve 80 4096 2>"$TMP/server.err" &
	SERVER=$!
	until listens B 80; do
		kill -0 "$SERVER" || die "no server: $(<"$TMP/server.err")"
		sleep 0.02
	done
}
server_end() {
	kill "$SERVER" || die "the server has ended: $(<"$TMP/server.err")"
	wait "$SERVER" 2>/dev/null
}

flood_begin() { # RATE CPU SEED
	RECEIVED=$(received)
	flood A --rate "$1" --count "$(jq -n "$1 * ($WINDOW + 0.4) + $FILLS | round")" --cpu "$2" --seed "$3" --proto tcp-syn \
		--dport 80 --sport 0 --src "$SOURCES" >"$TMP/flood" 2>"$TMP/flood.err" &
	FLOODER=$!
	until [[ $(($(received) - RECEIVED)) -ge $FILLS ]]; do
		kill -0 "$FLOODER" 2>/dev/null || die "no flood: $(<"$TMP/flood.err")"
		sleep 0.02
	done
}
received() { ip -n "$(ns B)" -s -j link show veth-B | jq '.[0].stats64.rx.packets'; }

# cpu N: ticks of all kinds, those idle, and those of soft interrupts.
cpu() { awk -v cpu="cpu$1" '$1 == cpu { for (i = 2; i <= 9; i++) all += $i; print all, $5 + $6, $8; exit }' /proc/stat; }

answers_sent() { rl A stats -j | json '.[0].reasons.denied.packets'; }

# one DEFENCE WHERE RATE ROUND: a line of JSON, with what defends already there.
one() {
	local at=0 before after served answered=0 flood='{}'
	[[ $2 != apart ]] || at=1
	in_ns B ip tcp_metrics flush all
	server_begin
	if [[ $3 -gt 0 ]]; then
		answered=$(answers_sent)
		flood_begin "$3" "$at" "$4"
	fi
	before=$(cpu "$at")
	served=$(in_ns A taskset -c 0 python3 "$ENDS" many 10.77.0.2 80 "$CLIENTS" "$WINDOW")
	after=$(cpu "$at")
	if [[ $3 -gt 0 ]]; then
		wait "$FLOODER" || die "no flood: $(<"$TMP/flood.err")"
		flood=$(<"$TMP/flood") answered=$(($(answers_sent) - answered))
	fi
	server_end
	jq -nc --arg defence "$1" --arg where "$2" --argjson rate "$3" --argjson flood "$flood" --argjson served "$served" \
		--argjson answers "$answered" --arg before "$before" --arg after "$after" \
		'{defence: $defence, where: $where, rate: $rate, flood: $flood, answers: $answers,
		  cpu: [$before, $after | split(" ") | map(tonumber)]} + $served' >>"$TMP/raw"
}

trap 'session_nice "$NICE"; _cleanup' EXIT
NICE=$(sed 's/.* //' "$AUTOGROUP" 2>/dev/null)
session_nice -20
renice -n -15 $$ >/dev/null || die 'cannot go before others'
setup
PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/busy.py $$ >"$TMP/busy-before"
for ((round = 1; round <= ROUNDS; round++)); do
	echo "$SECONDS s  round $round of $ROUNDS" >&2
	for where in apart together; do
		for defence in $DEFENCES; do
			defend "$defence" || die "$defence does not load here"
			[[ $defence != kernel-1 ]] || one "$defence" "$where" 0 "$round"
			for rate in $RATES; do
				one "$defence" "$where" "$rate" "$round"
			done
		done
	done
done
PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/busy.py $$ >"$TMP/busy-after"
python3 tests/bench/challenge.py "$TMP" "$OUT/docs/challenge.json" "$WINDOW" || exit 1
[[ $OUT != "$TOP" ]] || python3 tests/bench/figures.py
