#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# State that survives a new policy: `show | apply` changes nothing, counters and drained buckets of rules that
# stay are kept, a changed rate or burst acts at once on the old state, and a rule that was removed comes back
# fresh.
source "$(dirname "$0")/../lib.sh"

POLICY='rule any limit 1/hour burst 10
rule any limit 100kbyte/day burst 6kbyte
rule device limit 1/hour burst 20 per rule
rule 10.78.1.0/24 limit 1/hour burst 10
rule 10.78.2.0/24 limit 1/hour burst 10 per rule
rule 10.78.3.0/24 deny
rule 10.78.4.0/24 udp dport 53 allow for 1h
rule fd78::/32 limit 1/hour burst 10'

# policy: standard input instead of all rules, with fresh state.
policy() { rl B rule flush && rl B apply -; }

# passes N PREFIX FLOOD-ARG…: of a hundred packets N pass by the rule of PREFIX.
passes() { is "$(growth "rule_stat B $2 .passed.packets" send "${@:3}")" "$1"; }

counted() { is "$(stat_of B '.passed.packets + .dropped.packets')" "$1"; }

send() { # FLOOD-ARG…
	local before
	before=$(stat_of B '.passed.packets + .dropped.packets') && flood A --count 100 "$@" &&
		eventually 5 counted $((before + 100))
}

# timeless TEXT: without the remaining time of a rule, which keeps running.
timeless() { echo "${1// for +([0-9a-z])/}"; }
shopt -s extglob

again() { rl B show | rl B apply -; }

# ---- show | apply

test_same_text() {
	local shown
	policy <<<"$POLICY" && shown=$(rl B show) && is "$(wc -l <<<"$shown")" 8 && again || return
	is "$(timeless "$(rl B show)")" "$(timeless "$shown")" && has ' for ' rl B show &&
		rl B show | rl B apply --check -
}

test_same_counters() {
	local before
	send --src 10.78.1.1 && send --src 10.78.3.1 && send --src fd78::1 &&
		send --src 10.79.0.1 || return
	before=$(timeless "$(stats_of B)") && again && again &&
		is "$(timeless "$(stats_of B)")" "$before"
}

test_same_ids() {
	local before
	before=$(rl B rule list -j | jq 'del(.rules[] | .rule, .seconds_left)') && again &&
		is "$(rl B rule list -j | jq 'del(.rules[] | .rule, .seconds_left)')" "$before"
}

# drained RULE FLOOD-ARG…: its ten packets are spent once, however often the policy is applied.
drained() {
	local rule=$1
	shift
	policy <<<"rule $rule" && passes 10 "${rule%% *}" "$@" && again && passes 0 "${rule%% *}" "$@" &&
		again && again && passes 0 "${rule%% *}" "$@" &&
		is "$(rule_stat B "${rule%% *}" .dropped.packets)" 290
}

# ---- what else leaves a rule alone

test_other_rules() {
	policy <<<'rule 10.78.0.0/16 limit 1/hour burst 10' &&
		passes 10 10.78.0.0/16 --src 10.78.1.1 || return
	rl B rule add any limit 5/second && rl B rule add 192.0.2.1 deny &&
		rl B rule add 10.0.0.0/8 allow &&
		rl B rule del any limit 5/second && passes 0 10.78.0.0/16 --src 10.78.1.1 &&
		is "$(rule_stat B 10.78.0.0/16 .dropped.packets)" 190
}

test_same_rule_added() {
	policy <<<'rule 10.78.0.0/16 limit 1/hour burst 10' && passes 10 10.78.0.0/16 --src 10.78.1.1 &&
		rl B rule add 10.78.0.0/16 limit 1/hour burst 10 && passes 0 10.78.0.0/16 --src 10.78.1.1
}

# Order, spelling, comments and the surrounding rules do not change the identity of a rule.
test_rewritten() {
	policy <<-'END' && passes 10 10.78.0.0/16 --src 10.78.1.1 || return
	rule 10.78.0.0/16 limit 1/hour burst 10
	rule any deny
	END
	rl B apply - <<-'END' && passes 0 10.78.0.0/16 --src 10.78.1.1 && is "$(rl B show | wc -l)" 2
	# mine
	rule 10.77.0.0/16 allow
	rule 10.78.0.0/16 limit token-bucket 1/h burst 10packets per source/32,64 over drop
	END
}

# ---- changed numbers

# A drained bucket fills at the new rate from now on, whatever its debt under the old rate.
test_faster() { # [RULE]: another limit of the same packets
	policy <<<"rule 10.78.0.0/16 limit 1/hour burst 10${1:+$'\n'rule $1}" &&
		passes 10 10.78.0.0/16 --src 10.78.1.1 &&
		rl B rule add 10.78.0.0/16 limit 1000/second burst 10 || return
	eventually 3 passes_at_least 10 10.78.0.0/16 --src 10.78.1.1
}
passes_at_least() { # N PREFIX FLOOD-ARG…
	local before
	before=$(rule_stat B "$2" .passed.packets) && send "${@:3}" &&
		[[ $(rule_stat B "$2" .passed.packets) -ge $((before + $1)) ]]
}

# A full bucket holds no more than the new burst. The old rate's remaining debt, a tenth of a second at most,
# may delay its last packet for as long.
test_slower() {
	policy <<<'rule 10.78.0.0/16 limit 1000/second burst 100' && send --src 10.78.1.1 &&
		is "$(rule_stat B 10.78.0.0/16 .passed.packets)" 100 &&
		rl B rule add 10.78.0.0/16 limit 1/hour burst 10 && send --src 10.78.1.1 &&
		between "$(rule_stat B 10.78.0.0/16 .passed.packets)" 109 110 && sleep 0.2 &&
		send --src 10.78.1.1 && is "$(rule_stat B 10.78.0.0/16 .passed.packets)" 110
}

test_smaller_burst() {
	policy <<<'rule 10.78.0.0/16 limit 1/hour burst 20' &&
		rl B rule add 10.78.0.0/16 limit 1/hour burst 5 &&
		passes 5 10.78.0.0/16 --src 10.78.1.1
}

# ---- new rules start fresh

test_deleted() {
	policy <<<'rule 10.78.0.0/16 limit 1/hour burst 10' && passes 10 10.78.0.0/16 --src 10.78.1.1 &&
		rl B rule del 10.78.0.0/16 && rl B rule add 10.78.0.0/16 limit 1/hour burst 10 &&
		is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" '0 0' &&
		passes 10 10.78.0.0/16 --src 10.78.1.1
}

test_other_key() {
	policy <<<'rule 10.78.0.0/16 limit 1/hour burst 10' &&
		passes 10 10.78.0.0/16 --src 10.78.1.1 || return
	rl B apply - <<<'rule 10.78.0.0/16 limit 1/hour burst 10 per rule' &&
		passes 10 10.78.0.0/16 --src 10.78.1.1
}

# said WANTED ARG…: what apply prints of standard input.
said() { is "$(rl B apply "${@:2}" - 2>&1)" "$1"; }

# One line names what goes on counting under a policy that is another one; nothing, where it is the same or no packet was counted.
test_said() {
	local add='rule any udp deny' first='10.78.1.0/24 limit 1/hour burst 10' deny='10.78.3.0/24 deny'
	policy <<<"$POLICY" && said '' <<<"$POLICY"$'\n'"$add" && send --src 10.78.3.1 || return
	said 'rlctl: veth-B: 1 rule keeps its counters: '"$deny" <<<"$POLICY" && said '' <<<"$POLICY" && send --src 10.78.1.1 &&
		said "rlctl: veth-B: 3 rules keep their counters: device limit 1/hour burst 20, and 2 more (-v names them)" <<<"$POLICY"$'\n'"$add" &&
		said "rlctl: veth-B: 3 rules keep their counters: device limit 1/hour burst 20, and 2 more:
rlctl:   $first
rlctl:   $deny
rlctl: 8 rules" -v <<<"$POLICY" && said '' -q <<<"$POLICY"$'\n'"$add" && said 'rlctl: veth-B: 1 rule keeps its counters: 10.78.3.0/24 allow' <<<"$add"$'\nrule 10.78.3.0/24 allow' && said '' <<<"$add" &&
		has "veth-B xdp, counted since $(date +%F)" rl B stats
}

# Counters of the instance never decrease, whatever the policy becomes.
test_totals() {
	local before
	before=$(rl B stats -j | jq -c '.[0].reasons') && policy </dev/null && policy <<<"$POLICY" &&
		is "$(rl B stats -j | jq -c '.[0].reasons')" "$before"
}

veth_pair A B && veth_quiet A B && ns_mute A && rl B attach veth-B || exit 1
t 'show | apply: the same text' test_same_text
t 'show | apply: the same counters' test_same_counters
t 'show | apply: the same limits' test_same_ids
t 'show | apply: a source stays drained' drained '10.78.0.0/16 limit 1/hour burst 10' --src 10.78.1.1
t 'show | apply: a rule stays drained' drained '10.78.0.0/16 limit 1/hour burst 10 per rule' --src 10.78.0.0/24
t 'show | apply: any stays drained' drained 'any limit 1/hour burst 10' --src 10.78.1.1
t 'show | apply: a device rule stays drained' drained 'device limit 1/hour burst 10' --src 10.78.0.0/24
t 'show | apply: an IPv6 source stays drained' drained 'fd78::/32 limit 1/hour burst 10' --src fd78::/64
t 'other rules come and go' test_other_rules
t 'the same rule added again' test_same_rule_added
t 'the same policy in other words' test_rewritten
t 'a faster rate at once' test_faster
t 'a faster rate at once, beside another limit' test_faster 'device limit 10k/second'
t 'a slower rate at once' test_slower
t 'a smaller burst at once' test_smaller_burst
t 'a rule deleted and added is fresh' test_deleted
t 'another key is another limit' test_other_key
t 'apply names the rules that go on counting' test_said
t 'the totals stay' test_totals
