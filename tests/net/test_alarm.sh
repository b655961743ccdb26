#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Alarms on a live veth, at xdp in each mode and at tc: a real flood turns one on and its rule begins, the flood's end
# turns it off without any packet, and a change of the policy, of the program or of a set leaves it as it is.
#
# check: timeout 240
source "$(dirname "$0")/../lib.sh"

# More than 500 a second in each tenth of one; a flood has many times as many.
policy() {
	printf '%s\n' 'alarm attack when udp over 500/second for 1s until under 100/second for 1s' \
		'rule any udp dport 9 deny while attack' 'rule any udp dport 10 deny while not attack' "$@"
}

# of FILTER: of the alarm, as stats has it.
of() { rl B stats -j | jq -r ".[0].alarms[] | select(.alarm == \"attack\") | $1"; }
is_on() { is "$(of .on)" "$1"; }
rule_dropped() { rule_stat B "any udp dport $1 deny" '.dropped.packets + 0 | tostring'; }

# one PORT: one packet.
one() { flood A --count 1 --dport "$1" >/dev/null; }

flood_begin() {
	bg in_ns A nice -n -15 "$TOP/build/flood" -i veth-A --seconds 60 --rate 20000 --dport 9
	FLOOD=$BG_PID
}
flood_end() {
	kill -TERM -- "-$FLOOD"
	eventually 5 expect_fail kill -0 "$FLOOD"
}

begin() { # OPTION…
	veth_pair A B 2 && veth_quiet A B && ns_mute A || return
	[[ "$*" != *generic* ]] || no_native A B || return
	[[ "$*" == *native* ]] || in_ns B ethtool -K veth-B gro on || return # takes frames of a flood
	policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" -q "$@"
}
finish() {
	rl B detach veth-B "$@" -q && ip -n "$(ns A)" link del veth-A && ip netns del "$(ns A)" && ip netns del "$(ns B)"
}

test_quiet() {
	is_on false && is "$(of .changes)" 0 && one 9 && one 10 && is "$(rule_dropped 9)" 0 && is "$(rule_dropped 10)" 1 &&
		is "$(of .counted.packets)" 2
}
test_on() {
	flood_begin
	eventually 5 is_on true && eventually 2 dropped_some && is "$(of .changes)" 1 && one 10 && is "$(rule_dropped 10)" 1
}
dropped_some() { [[ $(rule_dropped 9) -gt 0 ]]; }

# The packets counted before it was on are those that passed: it took more than a second's rate, and not all that came.
test_counted() {
	local passed dropped
	passed=$(stat_of B .passed.packets) dropped=$(rule_dropped 9)
	[[ $passed -gt 500 ]] && [[ $(of .counted.packets) -ge $((dropped + 500)) ]]
}
test_off() {
	local before
	flood_end
	eventually 4 is_on false && is "$(of .changes)" 2 || return
	before=$(rule_dropped 9)
	one 9 && is "$(rule_dropped 9)" "$before" && one 10 && is "$(rule_dropped 10)" 2
}
test_again() {
	flood_begin
	eventually 5 is_on true && is "$(of .changes)" 3
}
# The flood goes on: neither a new policy nor a new program turns it off.
test_kept() {
	local since
	since=$(of .since)
	policy 'rule 192.0.2.0/24 deny' 'set bad' 'rule @bad deny' >"$TMP/more" && rl B apply -q "$TMP/more" &&
		is_on true && is "$(of .since)" "$since" && rl B set add bad 192.0.2.7 -q && is_on true &&
		rl B rule add 198.51.100.0/24 deny -q && is_on true && is "$(of .since)" "$since" &&
		rl B attach veth-B "$@" --replace -q && is_on true && is "$(of .changes)" 3 &&
		policy >"$TMP/policy" && rl B apply -q "$TMP/policy" && is_on true && is "$(of .since)" "$since"
}
test_trial() {
	policy 'rule any tcp deny' >"$TMP/trial" && rl B apply -q --try 2s "$TMP/trial" >"$TMP/tried" 2>&1
	is_on true && is "$(of .changes)" 3 && expect_fail grep -q tcp <(rl B show)
}
# It is on when it goes, and begins anew: the flood has ended by then, which would soon turn it on again.
test_gone() {
	is_on true && rl B apply -q - <<<'rule any udp dport 9 limit 10/second' || return
	flood_end && is "$(rl B stats -j | jq '.[0].alarms')" null && rl B apply -q "$TMP/policy" && is_on false &&
		is "$(of .changes)" 0
}

# ---- the language, on a living instance

# same_after CMD…: it fails and changes nothing.
same_after() {
	local before status=0
	before=$(rl B show) && expect_fail "$@" || status=1
	is "$(rl B show)" "$before" && [[ $status == 0 ]]
}
# A name that no alarm has is refused, and says what to do; a file without the alarm is refused at its rule.
test_unknown() {
	has 'rule any tcp deny while zzz: unknown alarm "zzz": apply a policy with a line "alarm zzz when ..." first' \
		same_after rl B rule add any tcp deny while zzz &&
		has 'unknown alarm "attak": did you mean attack?' same_after rl B rule add any tcp deny while not attak || return
	grep -v '^alarm' "$TMP/policy" >"$TMP/without"
	has "$TMP/without:1:33: unknown alarm \"attack\": add a line" same_after rl B apply "$TMP/without" &&
		has "$TMP/without:2:38: unknown alarm" expect_fail rl B diff "$TMP/without" &&
		has "$TMP/without:2:38: unknown alarm" expect_fail rl B apply --check "$TMP/without"
}
# Two alarms, one with a comment and one that no rule names, and every verb that prints or reads them.
test_language() {
	{
		sed '1s/$/ # who/' "$TMP/policy"
		echo 'alarm bulk when not tcp dst 10.77.0.0/24 length 500-1500 over 8mbit for 300ms until under 4mbit for 1m'
	} >"$TMP/language"
	rl B apply "$TMP/language" && rl B show >"$TMP/shown" && grep -cxFf "$TMP/language" "$TMP/shown" | grep -qx 4 &&
		has 'no difference' rl B diff "$TMP/shown" && rl B apply --check "$TMP/shown" && rl B save "$TMP/saved" -q &&
		cmp "$TMP/shown" "$TMP/saved" && rl B apply "$TMP/saved" && is "$(rl B show)" "$(<"$TMP/shown")" &&
		sed 's/8mbit/9mbit/; /while not/d; /^alarm attack/s/ #.*//' "$TMP/shown" >"$TMP/other" &&
		is "$(rl B diff "$TMP/other" | cut -d' ' -f-3 | paste -sd,)" \
			'- alarm attack,+ alarm attack,- alarm bulk,+ alarm bulk,- rule any' && is "$(rl B show)" "$(<"$TMP/shown")"
}
# Words that may follow, from the policy in force.
test_offers() {
	is "$(offered rule add any tcp deny while '')" 'attack bulk not' && is "$(offered rule add any tcp deny while not b)" bulk &&
		is "$(offered rule del any udp dport 10 deny while not '')" attack
}
offered() { "$RLCTL" complete -- -n "$(ns B)" "$@" | cut -f1 | sort | paste -sd' '; }
# The last rule that names it goes: it counts on, and a rule may name it again.
test_last_rule() {
	local counted
	rl B rule del any udp dport 9 while attack && rl B rule del any udp dport 10 deny while not attack &&
		is "$(rl B show | grep -c '^rule')" 0 && counted=$(of .counted.packets) && one 9 && one 10 &&
		is "$(of .counted.packets)" $((counted + 2)) && rl B rule add any udp dport 10 deny while not attack && one 10 &&
		is "$(rule_dropped 10)" 1 && rl B rule flush && is "$(rl B show | grep -c '^alarm')" 2
}
test_detached_on() {
	rl B apply -q "$TMP/policy" && flood_begin && eventually 5 is_on true && rl B detach veth-B -q && flood_end &&
		rl B attach veth-B --policy "$TMP/policy" -q && is_on false
}
language() {
	t 'language: an alarm that is not there is refused' test_unknown
	t 'language: show, diff, save and apply agree' test_language
	t 'language: completion' test_offers
	t 'language: the last rule with while' test_last_rule
	t 'language: detached while on' test_detached_on
}

# ---- the same senders, from peace into the alarm

# known_policy RULE…: of the strangers, a hundred packets a second while it is on.
known_policy() {
	printf '%s\n' 'alarm flood when udp over 1000/second for 1s until under 500/second for 5s' "$@" >"$TMP/known"
	rl B apply -q "$TMP/known"
}
# From 2,000 sources, one after the other; at most a tenth of what comes after the alarm is on passes.
test_senders() { # RULE
	local before after
	known_policy "rule $1" || return
	flood A --seconds 6 --rate 20000 --src 10.77.64.0/21 --sequential --dport 27015 >"$TMP/flooded" || return
	before=$(jq .sent "$TMP/flooded") after=$(rl B stats -j | jq '[.[0].rules[].dropped.packets] | add')
	echo "# $before sent, $after dropped"
	[[ $after -gt $((before / 2)) ]]
}
# Strangers that send something else first, while it is on.
test_stray() {
	known_policy 'rule device new-source udp dport 27015 limit 100/second while flood' || return
	bg in_ns A nice -n -15 "$TOP/build/flood" -i veth-A --seconds 60 --rate 5000 --src 10.77.64.0/21 --dport 9
	FLOOD=$BG_PID
	eventually 5 flood_is_on && flood A --count 2000 --rate 5000 --src 10.77.128.0/21 --sequential --proto icmp >"$TMP/icmp" &&
		flood A --count 4000 --rate 5000 --src 10.77.128.0/21 --sequential --dport 27015 >"$TMP/flooded" && flood_end &&
		[[ $(rl B stats -j | jq '[.[0].rules[].dropped.packets] | add') -gt 3000 ]]
}
flood_is_on() { is "$(rl B stats -j | jq '.[0].alarms[0].on')" true; }

all() { # NAME OPTION…
	local name=$1
	shift
	t "$name: attached" begin "$@" || return
	t "$name: off, and its rules are as they say" test_quiet
	t "$name: a flood turns it on" test_on
	t "$name: what it counted" test_counted
	t "$name: off without a packet" test_off
	t "$name: on again" test_again
	t "$name: kept by changes of all kinds" test_kept "${KEEP[@]}"
	[[ $name != native ]] || t "$name: kept by a trial that is undone" test_trial
	t "$name: gone with the policy" test_gone
	[[ $name != native ]] || language
	t "$name: the senders of a flood do not become known" test_senders \
		'device new-source not established limit 100/second while flood'
	t "$name: nor for a port" test_senders 'device new-source udp dport 27015 limit 100/second while flood'
	t "$name: nor by a packet of another protocol" test_stray
	t "$name: detached" finish "${KEEP[@]}"
}

KEEP=()
all native --mode native
all generic --mode generic
KEEP=(--hook ingress)
all tc --hook ingress
