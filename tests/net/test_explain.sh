#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl explain on a device: what it says of a packet is what becomes of such a packet, and asking changes
# nothing. That the same holds for random policies is tested in tests/prog/test_explain.c.
source "$(dirname "$0")/../lib.sh"

# verdict_is WANTED WORDS…: "VERDICT REASON".
verdict_is() {
	local wanted=$1
	shift
	is "$(rl B explain -j "$@" | jq -r '"\(.verdict) \(.reason)"')" "$wanted"
}

# says TEXT WORDS…
says() {
	local text=$1
	shift
	has "$text" rl B explain "$@"
}

# sent N ARG…: packets of the generator from 198.51.100.9.
sent() { flood A --src 198.51.100.9 --count "$1" "${@:2}" >"$TMP/sent"; }

policy() { rl B apply - <<<"$1"; }

test_fresh() {
	policy 'rule any udp dport 53 limit 3/hour burst 3' && verdict_is 'pass within' 198.51.100.9 udp dport 53 &&
		says '# yes, within: 3 packets left' 198.51.100.9 udp dport 53 &&
		verdict_is 'pass unmatched' 198.51.100.9 udp dport 54 && says '# no, dport 54 is not 53' 198.51.100.9 udp dport 54
}

test_over() {
	local before
	sent 2 --dport 53 && says 'within: 1 packet left' 198.51.100.9 udp dport 53 && sent 3 --dport 53 || return
	before=$(stats_of B)
	verdict_is 'drop over' 198.51.100.9 udp dport 53 && says 'over: nothing left, next in' 198.51.100.9 udp dport 53 &&
		verdict_is 'pass within' 198.51.100.8 udp dport 53 && verdict_is 'pass within' 198.51.100.8 udp dport 53 length 60 -i veth-B &&
		is "$(stats_of B)" "$before"
}

# Asking a thousand times takes nothing.
test_changes_nothing() {
	local before
	policy $'rule any udp limit 3/hour burst 3\nrule device new-source limit 1/hour burst 1' || return
	before=$(stats_of B)
	for _ in {1..9}; do
		verdict_is 'pass within' 198.51.100.7 udp || return
	done
	is "$(stats_of B)" "$before" && is "$(rl B source show -j 198.51.100.7 | jq -c '[.states[] | select(.key != "all")]')" '[]'
}

test_ban() {
	policy 'rule any udp limit 3/hour burst 3 over ban 1h' && sent 5 --dport 9 && verdict_is 'drop banned' 198.51.100.9 udp &&
		says 'its key is banned for' 198.51.100.9 udp && verdict_is 'pass unmatched' 198.51.100.9 tcp &&
		policy $'rule any udp limit 3/hour burst 2 over ban 1h source\nrule device new-source limit 9/second' && sent 5 --dport 9 --src 198.51.100.12 &&
		verdict_is 'drop banned' 198.51.100.12 tcp && says 'the source is banned for' 198.51.100.12 tcp &&
		says 'device new-source limit 9/second burst 5	# not asked: the source is banned' 198.51.100.12 tcp &&
		says 'source	# not asked: the source is banned' 198.51.100.12 udp &&
		rl B source forgive 198.51.100.12 && verdict_is 'pass unmatched' 198.51.100.12 tcp
}

test_allow_deny() {
	policy $'rule 198.51.100.9 udp allow\nrule 198.51.100.0/24 deny\nrule any limit 9/second' &&
		verdict_is 'pass allowed' 198.51.100.9 udp && verdict_is 'drop denied' 198.51.100.9 tcp &&
		verdict_is 'drop denied' 198.51.100.8 && verdict_is 'pass within' 192.0.2.1 &&
		is "$(rl B explain -j 198.51.100.9 | jq -r '.reason, .depends[]' | paste -sd' ')" 'denied protocol' &&
		is "$(rl B explain -j 198.51.100.8 | jq -r '.decided_by')" '198.51.100.0/24 deny'
}

# Packets of which the rule's other matches hold make their source known, and no others.
test_new_source() {
	policy 'rule any new-source deny' && verdict_is 'drop denied' 198.51.100.9 &&
		policy 'rule any udp dport 99 new-source limit 9/second burst 9' && sent 2 --dport 99 &&
		verdict_is 'pass unmatched' 198.51.100.9 udp dport 99 && says 'no, its source is known' 198.51.100.9 udp dport 99 &&
		verdict_is 'pass within' 198.51.100.9 udp dport 99 new-source && sent 2 --dport 9 --src 198.51.100.5 &&
		verdict_is 'pass within' 198.51.100.5 udp dport 99 && policy 'rule any udp dport 99 new-source deny' &&
		verdict_is 'drop denied' 198.51.100.5 udp dport 99
}

test_fragment() {
	policy 'rule any fragment deny' && verdict_is 'drop denied' 198.51.100.9 udp fragment && verdict_is 'pass unmatched' 198.51.100.9 udp
}

test_ipv6() {
	policy $'rule 2001:db8::/32 udp limit 2/hour burst 2\nrule any icmp6 deny' && verdict_is 'pass within' 2001:db8::1 udp dport 5 &&
		flood A --src 2001:db8::1 --count 4 >"$TMP/sent" && verdict_is 'drop over' 2001:db8::1 udp dport 5 &&
		verdict_is 'drop over' 2001:db8::2 udp && verdict_is 'pass within' 2001:db8:0:1::1 udp &&
		verdict_is 'drop denied' fd00::1 icmp6 && verdict_is 'pass unmatched' 192.0.2.1 icmp
}

# A bucket in bytes: the length decides.
test_length() {
	policy 'rule any limit 1514byte/hour burst 1514byte' && verdict_is 'pass within' 198.51.100.9 length 1500 &&
		verdict_is 'drop over' 198.51.100.9 length 1501 && sent 1 --size 1000 && verdict_is 'pass within' 198.51.100.9 length 400 &&
		verdict_is 'drop over' 198.51.100.9 length 600
}

test_egress() {
	rl B detach veth-B && rl B attach veth-B --hook egress && policy 'rule 10.77.0.1 icmp limit 2/hour burst 2' &&
		verdict_is 'pass within' 10.77.0.1 icmp && { in_ns B ping -qc 4 -i 0.01 -W 1 10.77.0.1 >"$TMP/ping" || true; } &&
		verdict_is 'drop over' 10.77.0.1 icmp src 10.77.0.2 && verdict_is 'pass unmatched' 10.77.0.2 icmp
}

# Without a device and without privilege.
test_file() {
	echo 'rule any udp dport 53 limit 3/second' >"$TMP/policy"
	chmod 755 "$TMP"
	is "$(setpriv --reuid 65534 --regid 65534 --clear-groups "$RLCTL" explain --policy "$TMP/policy" 192.0.2.1 udp dport 53 -j |
		jq -r '"\(.verdict) \(.reason)"')" 'pass within' &&
		has 'depends on dport' "$RLCTL" explain --policy "$TMP/policy" 192.0.2.1 udp
}

# A file alone does not tell who is in a set, and whether an alarm is on, unless the packet says so.
test_file_unknown() {
	cat >"$TMP/policy" <<-'END2'
		set bad
		alarm flood when over 9k/second for 2s until under 5k/second for 1m
		rule @bad deny
		rule any udp deny while flood
		rule any udp allow while not flood
	END2
	is "$(timeout 20 "$RLCTL" explain -j --policy "$TMP/policy" 192.0.2.1 udp | jq -r '.depends | join(" ")')" 'alarm members' &&
		has 'depends on whether alarm flood is on' "$RLCTL" explain --policy "$TMP/policy" 192.0.2.1 udp &&
		has 'no, alarm flood is on' "$RLCTL" explain --policy "$TMP/policy" 192.0.2.1 udp while flood &&
		has 'packet: 192.0.2.1 udp length 64 while flood' "$RLCTL" explain --policy "$TMP/policy" 192.0.2.1 udp while flood &&
		is "$("$RLCTL" explain -j --policy "$TMP/policy" 192.0.2.1 udp while not flood |
			jq -r '.reason, (.rules[] | select(.asked and .holds) | .while, .while_not)' | paste -sd' ')" 'allowed flood true'
}

# The part that a limit keeps is left for those for whom it is kept, and not for others: of a packet, of an address, and of all.
test_keep() {
	policy $'set gold\nrule device limit 1/hour burst 9 keep 4 for @gold' && rl B set add gold 198.51.100.0/28 fd00::/64 -q &&
		says 'within: 5 packets left besides what is kept for @gold' 203.0.113.1 udp && sent 6 --src 203.0.113.1 &&
		verdict_is 'drop over' 203.0.113.1 udp && says 'nothing left besides what is kept for @gold, next in' 203.0.113.1 udp &&
		says 'within: 4 packets left' 198.51.100.9 udp && verdict_is 'pass within' fd00::9 udp &&
		is "$(rl B explain -j fd00::9 udp | jq -c '.rules[0] | [.kept, .remaining]')" '[true,4]' &&
		is "$(rl B source show -j 198.51.100.9 | jq -c '.states[0] | [.remaining, .wait_ns]')" '[4,0]' &&
		is "$(rl B source show -j 203.0.113.1 | jq -c '.states[0] | [.remaining, .wait_ns > 0]')" '[0,true]' &&
		is "$(rl B source list -j | jq -c '[.states[] | .key, .remaining]')" '["all",0]' &&
		rl B set del gold 198.51.100.0/28 -q && verdict_is 'drop over' 198.51.100.9 udp || return
	rl B rule flush && policy 'rule device limit 1/hour burst 9 keep 4 for known' && sent 1 && sleep 1.2 && sent 4 && sent 1 --src 203.0.113.1 &&
		is "$(rl B source show -j 198.51.100.9 | jq -c '[.known, .states[0].remaining]')" '[true,4]' &&
		is "$(rl B source show -j 203.0.113.1 | jq -c '[.known, .states[0].remaining]')" '[false,0]' &&
		verdict_is 'pass within' 198.51.100.9 udp && verdict_is 'drop over' 203.0.113.1 udp || return
	policy 'rule device udp limit 1/hour burst 9 keep 4 for established' && sent 5 &&
		is "$(rl B source show -j 198.51.100.9 | jq -c '.states[0].remaining')" 0 &&
		verdict_is 'drop over' 198.51.100.9 udp && verdict_is 'pass within' 198.51.100.9 udp established &&
		says 'depends on what is not said: established' 198.51.100.9 udp
}
veth_pair A B && veth_quiet A B && ns_mute A && rl B attach veth-B || exit 1
t 'a fresh limit' test_fresh
t 'a limit that is used up' test_over
t 'to ask changes nothing' test_changes_nothing
t 'bans of a key, of a source' test_ban
t 'allow, deny, and what is not said' test_allow_deny
t 'known and new sources' test_new_source
t 'fragments' test_fragment
t 'IPv6' test_ipv6
t 'lengths' test_length
t 'a policy in a file' test_file
t 'sets and alarms of a policy in a file' test_file_unknown
t 'what is kept for some' test_keep
t 'at egress, by destination' test_egress
