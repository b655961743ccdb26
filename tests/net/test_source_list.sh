#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `source list`: what is banned and what is at a limit, in order, by rule, in words and in JSON, with the hot
# table and with LRU maps.
source "$(dirname "$0")/../lib.sh"

policy() { rl B rule flush && printf 'rule %s\n' "$@" | rl B apply -q -; }
attach() { # TABLE
	[[ -z $(xdp_program B veth-B) ]] || rl B detach veth-B || return
	rl B attach veth-B --table "$1" -q
}
sends() { flood A --count "$1" --src "${@:2}"; }

# listed WANTED ARG…: the lines "status key" of each document, without their times.
listed() {
	local wanted=$1
	shift
	rl B -j source list "$@" >"$TMP/list" || return
	is "$(json '.states[] | "\(.status) \(.key)"' <"$TMP/list" | paste -sd,)" "$wanted"
}

SHORT='10.78.0.0/16 udp limit 1/hour burst 1 over ban 10m'
LONG='10.79.0.0/16 udp limit 1/hour burst 1 per flow over ban 1h'
FLOW='protocol 17, 10.79.0.1 port 40000 to 10.77.0.2 port 9'

# The longest first; what is not a source says what it is.
test_banned() {
	policy "$SHORT" "$LONG" && sends 2 10.79.0.1 && sends 2 10.78.0.2 && sends 2 10.78.0.1 &&
		listed "banned $FLOW,banned 10.78.0.1,banned 10.78.0.2" --banned || return
	is "$(json '.states[0] | "\(.rule) \(.ban_ns == .next_ns) \(.ban_ns > 3500000000000)"' <"$TMP/list")" "$LONG true true" &&
		is "$(rl B source list --banned | awk '{ print $1, $2 }' | sed -n '1p;3p')" $'key status\n10.78.0.1 banned' &&
		is "$(rl B source list --banned | grep -c 60m)" 0
}
test_by_rule() {
	listed 'banned 10.78.0.1,banned 10.78.0.2' --banned --rule "$SHORT" &&
		listed "banned $FLOW" --banned --rule '10.79.0.0/16 udp' &&
		has 'no such rule' expect_status 1 rl B source list --banned --rule 'any deny'
}
# One that was forgiven or whose rule is gone is not in the list; a banned source is without a rule.
test_not_banned() {
	rl B source forgive 10.78.0.2 -q && listed "banned $FLOW,banned 10.78.0.1" --banned &&
		policy '10.78.0.0/16 udp limit 1/hour burst 1 over ban 1h source' && listed '' --banned &&
		has 'no source is banned' rl B source list --banned && sends 2 10.78.0.3 &&
		listed 'banned 10.78.0.3' --banned && is "$(json '.states[].rule' <"$TMP/list")" everything
}
# Such a ban is of no rule: a rule that begins such bans has those in its prefix, another rule has none.
test_by_rule_everything() {
	local bans='10.78.0.0/16 udp limit 1/hour burst 1 over ban 1h source' both='any udp dport 9 limit 1/hour burst 1 over ban 1h source'
	local other='10.79.0.0/16 udp limit 1/hour burst 1 over ban 1h source'
	policy "$bans" "$both" "$other" 'any udp limit 9/second' && listed 'banned 10.78.0.3' --banned --rule "$bans" &&
		listed 'banned 10.78.0.3' --banned --rule "$both" && listed '' --banned --rule "$other" &&
		listed '' --banned --rule 'any udp limit 9/second' &&
		has 'bans from everything are of no rule' rl B source list --banned --rule "$bans" &&
		is "$(rl B source list --banned 2>&1 | grep -c 'of no rule')" 0
}
# A source that is forgiven under its own flood is not banned anew by what it had spent.
test_forgive_flood() {
	local count=0
	policy "$SHORT" && bg flood A --seconds 60 --rate 200000 --src 10.78.9.9 && eventually 5 has_passed 1 || return
	while [[ $count -lt 10 ]] && forgiven_once; do count=$((count + 1)); done
	kill -KILL -- "-$BG_PID" && wait "$BG_PID"
	is "$count" 10
}
forgiven_once() {
	local before
	before=$(passed_of_short) && rl B source forgive 10.78.9.9 -q && eventually 3 has_passed $((before + 1))
}
passed_of_short() { rule_stat B 10.78.0.0/16 .passed.packets; }
has_passed() { [[ $(passed_of_short) -ge $1 ]]; }

received() { stat_of B '.passed.packets + .dropped.packets'; }
# Each is banned, but for as many as packets were lost on the way, as on a busy machine.
test_many() {
	local before lost banned
	policy "$SHORT" && before=$(received) && sends 6000 10.78.16.0/20 --sequential &&
		sends 4096 10.78.16.0/20 --sequential || return
	lost=$((before + 6000 + 4096 - $(received)))
	rl B -j source list --banned >"$TMP/list" && banned=$(json '.states | length' <"$TMP/list") &&
		between "$lost" 0 1000 && between "$banned" $((4096 - lost)) 4096 &&
		is "$(rl B stats --prometheus | sed -n 's/^rlctl_rule_bans{.*10.78.*} //p')" "$banned"
}

# In the hot table, those of which packets were dropped while it looked.
test_sampled() {
	policy 'any udp limit 5/hour burst 5' '10.80.0.0/16 limit 10/hour per rule' && sends 9 10.78.0.9 &&
		sends 9 10.78.4.0 && sleep 0.05 && sends 9 10.78.4.1 || return
	bg flood A --seconds 5 --rate 3000 --src 10.78.4.0/31 --sequential
	eventually 4 listed 'limited 10.78.4.1,limited 10.78.4.0' --limited &&
		is "$(json '.sampled, (.states[0] | .remaining, .next_ns > 0, .rule)' <"$TMP/list" | paste -sd' ')" \
			'true 0 true any udp limit 5/hour burst 5' &&
		has 'holds no addresses' rl B source list && listed '' --rule '10.80.0.0/16 limit 10/hour per rule' || return
	wait "$BG_PID"
	has 'no source is banned, and none was seen that a limit drops' rl B source list &&
		has ': no source was seen that a limit drops' rl B source list --limited || return
	sends 20 10.80.0.1 && listed 'limited all' --rule '10.80.0.0/16 limit 10/hour per rule'
}

# In maps with keys, all of them, also when they are silent; banned ones but once.
test_exact() {
	policy 'any udp limit 5/hour burst 5' '10.79.0.0/16 udp limit sliding-window 3/hour over ban 1h' &&
		sends 9 10.78.0.1 && sends 4 10.78.0.2 && sends 9 10.78.0.3 && sends 9 10.79.0.9 || return
	listed 'banned 10.79.0.9,limited 10.78.0.3,limited 10.78.0.1' && is "$(json .sampled <"$TMP/list")" false &&
		listed 'banned 10.79.0.9' --banned && sends 1 10.78.0.2 &&
		listed 'limited 10.79.0.9,limited 10.78.0.3,limited 10.78.0.2,limited 10.78.0.1' --limited
}

veth_pair A B && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on && attach hot || exit 1
t 'bans, the longest first' test_banned
t 'by rule' test_by_rule
t 'what is no longer banned' test_not_banned
t 'by rule: bans from everything' test_by_rule_everything
t 'forgiven under a flood' test_forgive_flood
t 'thousands of bans' test_many
t 'hot table: from samples' test_sampled
attach lru || exit 1
t 'maps with keys: exact' test_exact
t 'maps with keys: forgiven under a flood' test_forgive_flood
