#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Is this address affected? `source show`, `rlctl ADDRESS`, `source list` and `explain`: what denies it, and how many of its
# packets passed and were dropped, counted beside what the rules' counters say.
source "$(dirname "$0")/../lib.sh"

policy() { printf '%s\n' "$@" | rl B apply -q --yes -; }
field() { json "$1 | tostring" <"$TMP/show"; }

# watched ADDRESS FLOOD…: asks about the address while the packets come, and not before the watch has begun.
watched() {
	# shellcheck disable=SC2016 # for the inner shell
	bg sh -c 'exec "$0" "$@" >"$OUT"' "$RLCTL" -n "$(ns B)" -j source show "$1" --seconds 4
	local pid=$BG_PID
	sleep 1.5
	flood A "${@:2}" || return
	wait "$pid" && cat "$TMP/show"
}
export OUT=$TMP/show

# The limit admits its burst and what time brings of 300 packets; the figures are those of the counters.
test_counted() {
	policy 'rule any udp limit 10/second burst 100' 'rule 198.51.100.2 udp limit 9/second burst 9' &&
		watched 198.51.100.1 --count 300 --src 198.51.100.1 --rate 2000 && flood A --count 50 --src 198.51.100.2 || return
	is "$(field '.packets.passed')" "$(rule_stat B 'any udp' .passed.packets)" &&
		is "$(field '.packets.dropped')" "$(rule_stat B 'any udp' .dropped.packets)" &&
		is "$(field '.packets.passed + .packets.dropped')" 300 && is "$(field '.packets.passed_error + .packets.dropped_error')" 0 &&
		is "$(field '"\(.packets.reason) \(.packets.rule)"')" 'over any udp limit 10/second burst 100'
}

# More than are sampled: an estimate, with its error.
test_estimate() {
	local sent
	policy 'rule any udp limit 10/second burst 100' && watched 198.51.100.3 --seconds 1 --rate 150000 --src 198.51.100.3 || return
	sent=$(($(rule_stat B 'any udp' .dropped.packets)))
	field .packets.dropped_error && [[ $(field .packets.dropped_error) -gt 0 ]] &&
		between "$sent" $(($(field .packets.dropped) - 2 * $(field .packets.dropped_error))) $(($(field .packets.dropped) + 2 * $(field .packets.dropped_error)))
}

# Packets of others, and of an IPv6 /64 as limits count them.
test_others() {
	policy 'rule any udp limit 10/second burst 100' && watched 198.51.100.4 --count 50 --src 198.51.100.5 &&
		is "$(field '.packets | .passed + .dropped')" 0 && watched fd78:0:0:1::9 --count 40 --src fd78:0:0:1::7 &&
		is "$(field .packets.passed)" 40 && has 'no packet from 198.51.100.4 within 1 s' rl B source show 198.51.100.4
}

test_denied() {
	policy 'set bad' 'rule @bad deny' 'rule 198.51.100.0/24 deny for 1h' 'rule any udp limit 9/second burst 9' && rl B set add bad 10.0.0.0/8 for 9m &&
		has "198.51.100.1 is denied by '198.51.100.0/24 deny', for another " rl B source show 198.51.100.1 &&
		has "10.1.2.3 is denied by '@bad deny' (its member 10.0.0.0/8), for another " rl B source show 10.1.2.3 &&
		rl B -j source show 10.1.2.3 >"$TMP/show" && is "$(field '"\(.denied_by) \(.member) \(.denied_ns > 500000000000)"')" '@bad deny 10.0.0.0/8 true' &&
		rl B -j source show 192.0.2.1 >"$TMP/show" && is "$(field '[.denied_by, .member, .denied_ns]')" '[null,null,null]' &&
		watched 198.51.100.1 --count 30 --src 198.51.100.1 && is "$(field '"\(.packets.dropped) \(.packets.rule)"')" '30 198.51.100.0/24 deny'
}

test_banned() {
	policy 'rule any udp limit 1/hour burst 1 over ban 1h source' 'rule device new-source limit 9k/second' && flood A --count 3 --src 198.51.100.6 &&
		has '198.51.100.6 is banned from everything, for another ' rl B source show 198.51.100.6 &&
		has '198.51.100.6 is a known source' rl B source show 198.51.100.6 && has '198.51.100.7 is a new source' rl B source show 198.51.100.7
}

# `rlctl ADDRESS` is the same question.
test_address() {
	policy 'rule 198.51.100.1 deny' && is "$(rl B 198.51.100.1 2>&1)" "$(rl B source show 198.51.100.1 2>&1)" &&
		has 'is denied by' rl B 198.51.100.1 && rl B fd78::1 && has 'is a prefix: use an address' expect_status 2 rl B 198.51.100.0/24 &&
		has 'unknown verb' expect_status 2 rl B 198.51.100.1 198.51.100.2 && has 'unknown verb' expect_status 2 rl B 198.51.100.256
}

# At egress addresses are destinations.
test_dest() {
	rl B attach veth-B --hook egress && printf '%s\n' 'rule 10.77.0.1 icmp limit 1/hour burst 1' | rl B apply -q --hook egress - || return
	# shellcheck disable=SC2016 # for the inner shell
	bg sh -c 'exec "$0" "$@" >"$OUT"' "$RLCTL" -n "$(ns B)" -j source show 10.77.0.1 --hook egress --seconds 3
	local pid=$BG_PID
	sleep 1 && in_ns A ping -q -c 4 -i 0.1 -W 1 10.77.0.2
	wait "$pid" && cat "$TMP/show" && is "$(field '"\(.packets.passed) \(.packets.dropped)"')" '1 3' &&
		has 'no packet to 10.77.0.9 within 1 s' rl B source show 10.77.0.9 --hook egress && rl B detach veth-B --hook egress
}

# `source list` has what rules and sets deny, but not without end.
test_list() {
	policy 'set bad' 'rule @bad deny' 'rule 198.51.100.0/24 deny' 'rule 198.51.100.9 tcp deny' 'rule any udp limit 9/second' &&
		rl B set add bad 192.0.2.1 for 9m && is "$(rl B -j source list --seconds 1 | json -c '[.states[] | [.key, .status, .rule, .next_ns != null]]')" \
			'[["198.51.100.0/24","denied","198.51.100.0/24 deny",false],["192.0.2.1","denied","@bad deny",true]]' &&
		is "$(rl B -j source list --limited --seconds 1 | json -c .states)" '[]' && is "$(rl B -j source list --banned | json -c .states)" '[]' &&
		is "$(rl B -j source list --seconds 1 --rule '198.51.100.0/24 deny' | json -c '[.states[].key]')" '["198.51.100.0/24"]' &&
		is "$(rl B source list --seconds 1 2>&1 | grep -c 'no source')" 0 && seq -f '100.64.%.0f.0/24' 0 250 | rl B set add bad - &&
		seq -f '100.%.0f.0.0/24' 70 240 | rl B set add bad - && seq -f '101.%.0f.0.0/24' 0 250 | rl B set add bad - && seq -f '102.%.0f.0.0/24' 0 250 | rl B set add bad - &&
		seq -f '103.%.0f.0.0/24' 0 250 | rl B set add bad - && is "$(rl B -j source list --seconds 1 2>/dev/null | json '.states | length')" 1000 &&
		has ' more are denied' rl B source list --seconds 1
}

# A source that is refused does not read as one that passes because a token came back.
test_explain() {
	policy 'rule any udp limit 20/second burst 2' && bg flood A --seconds 20 --rate 200 --src 198.51.100.8 || return
	local flood=$BG_PID
	eventually 5 has ' within 1 s: ' refused_or_not && kill "$flood"
	is "$(rl B explain 192.0.2.200 udp | grep -c ' within 1 s')" 0
}
refused_or_not() { # asks until the limit has a packet left
	local said
	for _ in {1..50}; do
		said=$(rl B explain 198.51.100.8 udp dport 9) || return
		[[ $said != *'verdict: pass'* ]] || break
	done
	echo "$said"
}

# A member of the group sees what denies, and watches nothing.
test_group() {
	rl B detach veth-B && rl B attach veth-B --group 54321 --policy - <<<'rule 198.51.100.1 deny' || return
	in_ns B setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all "$RLCTL" -j source show 198.51.100.1 >"$TMP/show" &&
		is "$(field '[.denied_by, .packets]')" '["198.51.100.1 deny",null]'
}

veth_pair A B && veth_quiet A B && rl B attach veth-B -q || exit 1
t 'packets are counted' test_counted
t 'estimates' test_estimate
t 'packets of others' test_others
t 'denied by a rule or a set' test_denied
t 'banned, known' test_banned
t 'rlctl ADDRESS' test_address
t 'destinations' test_dest
t 'source list' test_list
t 'explain' test_explain
t 'a member of the group' test_group
