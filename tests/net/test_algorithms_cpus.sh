#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two CPUs, one key, each algorithm at full speed: never more than its definition allows for the time
# that it took, and one tick where the tick clock is used; and no less than 0.99 of that. By source in
# both tables, and by rule, whose state is the same in both.
# check: alone
#
# A warm-up has no memory of what it might have let through: where the machine keeps both senders
# waiting for longer than its interval, its definition allows less. Hence a long one, and 0.9.
source "$(dirname "$0")/../lib.sh"

# attach TABLE
attach() {
	[[ -z $(xdp_program B veth-B) ]] || rl B detach veth-B || return
	rl B attach veth-B --table "$1"
}

declare -A LIMIT=(
	[token]='20000/second burst 20000'
	[leaky]='leaky-bucket 20000/second queue 20000'
	[fixed]='fixed-window 9000/450ms'
	[slots]='sliding-window 9000/450ms'
	[log]='sliding-log 450/450ms'
	[warm]='warm-up 100/second ramp 500ms'
)
TICK=0.01 # of the slowest kernel

# allowed ALGORITHM SECONDS: what the limit admits under overload. Windows and logs let N through
# whenever one begins; of 450 ms none ends near one second. Slots are aligned to the clock, so the first
# may be shorter. From cold, half the rate is let through while it ramps.
allowed() {
	local formula
	case $1 in
	token | leaky) formula="20000 + 20000 * $2" ;;
	fixed) formula="9000 * (1 + ($2 / 0.45 | floor))" ;;
	slots) formula="9000 * (1 + (($2 + 0.045) / 0.45 | floor))" ;;
	log) formula="450 * (1 + ($2 / 0.45 | floor))" ;;
	warm) formula="1 + 100 / 4 + 100 * ($2 - 0.5)" ;;
	esac
	jq -n "$formula | floor"
}

# hammer ALGORITHM [per rule]: status 2 where too little was sent or passed, as when the machine made the senders
# wait. Buckets hold a second's rate: what they could not send meanwhile is not lost.
hammer() {
	local result seconds passed most part=99
	[[ $1 != warm ]] || part=90
	rl B rule flush && rl B rule add any limit "${LIMIT[$1]}" "${@:2}" || return 1
	result=$(flood A --seconds 1 --threads 2 --src 10.78.0.1) && echo "$result" || return 1
	seconds=$(json .seconds <<<"$result") && passed=$(stat_of B .reasons.within.packets) || return 1
	passed=$((passed - BEFORE)) && BEFORE=$((BEFORE + passed))
	most=$(allowed "$1" "$(jq -n "$seconds + $TICK")") && echo "$passed passed, $most may" || return 1
	[[ $passed -le $most ]] || return 1
	[[ $(json .sent <<<"$result") -ge $((2 * passed)) && $passed -ge $(($(allowed "$1" "$seconds") * part / 100)) ]] || return 2
}

if [[ $(nproc) -lt 2 ]]; then
	skip 'two CPUs and one key' 'needs two CPUs'
	exit 0
fi
veth_pair A B 2 && veth_quiet A B && ns_mute A || exit 1
for table in hot lru; do
	attach "$table" || exit 1
	BEFORE=0
	for algorithm in token leaky fixed slots log warm; do
		t "$table: ${LIMIT[$algorithm]}" patiently hammer "$algorithm"
	done
done
for algorithm in token leaky fixed slots log warm; do
	t "${LIMIT[$algorithm]} per rule" patiently hammer "$algorithm" per rule
done
