#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two CPUs hammer one limit at full speed, each through a receive queue of its own: together they get
# burst + rate × time, to 0.1 % of the rate over ten seconds and never more but for one tick. The price of a short
# burst shows after a few. check: alone
source "$(dirname "$0")/../lib.sh"

# The state that both CPUs fight for belongs to one source or to the rule.
THREADS=2
hammer() { # RULE SOURCES BURST SECONDS PART
	local result passed
	rl B rule flush && rl B apply - <<<"rule $1" || return 1
	result=$(flood A --seconds "$4" --threads $THREADS --src "$2") && echo "$result" && rl B stats || return 1
	passed=$(rule_stat B 10.78.0.0/16 .passed.packets)
	[[ $(json .sent <<<"$result") -ge $((2 * (passed - $3))) ]] || return 1 # it was overloaded
	admitted "$passed" 100000 "$3" "$(json .seconds <<<"$result")" "$5"
}

# No update is lost when two CPUs count at the same time.
test_counters() {
	local before result
	rl B rule flush && rl B rule add 10.78.0.0/16 allow &&
		before=$(stat_of B .passed.packets) || return
	result=$(flood A --count 1000000 --threads 2 --src 10.78.0.0/16) && echo "$result" || return
	is "$(json .exact <<<"$result")" true &&
		eventually 5 counted $((before + $(json .sent <<<"$result")))
}
counted() {
	is "$(stat_of B .passed.packets)" "$1" &&
		is "$(rule_stat B 10.78.0.0/16 .passed.packets)" $(($1 - before))
}

if [[ $(nproc) -lt 2 ]]; then
	skip 'two CPUs and one limit' 'needs two CPUs'
	exit 0
fi
veth_pair A B 2 && veth_quiet A B && ns_mute A && rl B attach veth-B || exit 1
THREADS=1 t 'one source at full speed' patiently hammer '10.78.0.0/16 limit 100k/second burst 10k' 10.78.0.1 10000 2 100
t 'one source on two CPUs' patiently hammer '10.78.0.0/16 limit 100k/second burst 50k' 10.78.0.1 50000 10 1000
t 'one rule on two CPUs' patiently hammer '10.78.0.0/16 limit 100k/second burst 50k per rule' 10.78.0.0/24 50000 10 1000
t 'a short burst on two CPUs' patiently hammer '10.78.0.0/16 limit 100k/second burst 5000 per rule' 10.78.0.0/24 5000 3 300
t 'counters of two CPUs' test_counters
