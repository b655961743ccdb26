#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Comments behind rules are part of the policy in force: what shows them, what keeps them and what replaces them.
# That no reader sees one behind another rule, and that none is lost when a command is killed, is in
# test_writers.sh and test_crash.sh.
source "$(dirname "$0")/../lib.sh"

pin() { echo "$(ns_pins "$1")/$2-xdp/comments"; }
shown() { is "$(rl B show)" "$(printf '%s\n' "$@")"; }

RULES=('rule device limit 9/second burst 1 # the uplink' 'rule any limit 10/second burst 10 # bob, ticket 12'
	'rule 192.0.2.1 deny # plain' 'rule 192.0.2.2 deny' 'rule 192.0.2.9 udp deny # with "quotes" # and é'
	'rule 192.0.2.9 limit 5/second burst 1')
apply_rules() { printf '%s\n' "${RULES[@]}" | rl B apply -; }

test_unused() {
	rl B apply - <<<'rule any deny' && rl B rule add 192.0.2.1 deny && [[ ! -e $(pin B veth-B) ]] &&
		rl B rule add 192.0.2.1 deny '# why' && [[ -e $(pin B veth-B) ]] && rl B rule add 192.0.2.1 deny &&
		[[ ! -e $(pin B veth-B) ]] && apply_rules && [[ -e $(pin B veth-B) ]] && rl B rule flush &&
		[[ ! -e $(pin B veth-B) ]]
}

test_shown() {
	apply_rules && shown "${RULES[@]}" && rl B show | rl B apply - && shown "${RULES[@]}" &&
		is "$(rl B rule list)" "$(printf '%s\n' "${RULES[@]#rule }")" &&
		has '192.0.2.1 deny # plain' rl B -v rule list
}

# The rules themselves are the strings that they were before there were comments.
test_json() {
	apply_rules && is "$(rl B show -j | json '.policy[2]')" 'rule 192.0.2.1 deny' &&
		is "$(rl B show -j | json '.comments[2] | .rule + "|" + .comment')" 'rule 192.0.2.1 deny|plain' &&
		is "$(rl B rule list -j | json '.rules[2] | .rule + "|" + .comment')" '192.0.2.1 deny|plain' &&
		is "$(rl B rule list -j | json '.rules[3] | has("comment") | not')" true &&
		is "$(rl B stats -j | json '[.[].rules[].rule | select(test("#"))] | length')" 0 &&
		rl B rule flush && is "$(rl B show -j | json 'has("comments") | not')" true
}

# identity: what a rule keeps: counters, and the ids of its counters and state.
identity() { rl B rule list -j | json -c '[.rules[] | [.prefix, .slot, .limit_id]]' && rule_stat B 'any limit' .passed.packets; }

test_keeps_state() {
	local before
	rl B apply - <<<'rule any limit 1/hour burst 3 # one' && in_ns A ping -qc 2 -i 0.01 10.77.0.2 && before=$(identity) &&
		is "${before##*$'\n'}" 2 && rl B apply - <<<'rule any limit 1/hour burst 3 # two' &&
		shown 'rule any limit 1/hour burst 3 # two' && is "$(identity)" "$before" &&
		rl B rule add any limit 1/hour burst 3 '# three' && shown 'rule any limit 1/hour burst 3 # three' &&
		is "$(identity)" "$before" && rl B rule add any limit 1/hour burst 3 &&
		shown 'rule any limit 1/hour burst 3' && is "$(identity)" "$before"
}

test_in_place() {
	apply_rules && rl B rule add 192.0.2.9 tcp deny '# third' && rl B rule add 192.0.2.2 allow '# second' &&
		rl B rule add 192.0.2.1 allow '# first' && rl B rule del '192.0.2.9 udp deny # another' &&
		shown "${RULES[@]:0:2}" 'rule 192.0.2.1 allow # first' 'rule 192.0.2.2 allow # second' \
			'rule 192.0.2.9 tcp deny # third' "${RULES[5]}"
}

test_replace() { apply_rules && rl B attach veth-B --replace && shown "${RULES[@]}"; }

test_group() {
	rl B attach veth-B --or-apply --group 54321 && apply_rules && rl B rule flush && apply_rules &&
		is "$(in_ns B setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all "$RLCTL" show)" "$(rl B show)"
}

test_rename() {
	apply_rules && ip -n "$(ns B)" link set veth-B down && ip -n "$(ns B)" link set veth-B name other &&
		is "$(rl B show -i other)" "$(printf '%s\n' "${RULES[@]}")" && [[ -e $(pin B other) ]] || return
	ip -n "$(ns B)" link set other name veth-B && ip -n "$(ns B)" link set veth-B up && shown "${RULES[@]}"
}

# A policy on trial has comments of its own; undone, those of the former one are there again.
test_try() {
	apply_rules && printf 'rule any deny # on trial\nrule 192.0.2.1 deny # tried\n' >"$TMP/other" && bg try || return
	eventually 10 shown 'rule any deny # on trial' 'rule 192.0.2.1 deny # tried' && kill -TERM "$BG_PID" &&
		eventually 10 shown "${RULES[@]}"
}
try() { exec "$RLCTL" -n "$(ns B)" apply --try 1m "$TMP/other"; }

# x WORD N: the word N times.
x() { local n text=''; for ((n = 0; n < $2; n++)); do text+=$1; done; echo "$text"; }

test_long() {
	printf 'rule any deny # %s\nrule 192.0.2.1 deny # %s\n' "$(x a 121)" "$(x a 120)" >"$TMP/long"
	has "$TMP/long:1: warning: the comment is longer than 120 bytes" rl B apply "$TMP/long" &&
		is "$(rl B apply --check "$TMP/long" 2>&1 | grep -c 'longer than 120 bytes')" 1 &&
		shown "rule any deny # $(x a 120)" "rule 192.0.2.1 deny # $(x a 120)"
}

# A terminal gets no control characters, and JSON no byte that is not UTF-8.
test_control() {
	printf 'rule any deny # a\033[31mb\tc\xffd\xc2\x9be\xe2\x80\xaef\n' | rl B apply - &&
		shown 'rule any deny # a?[31mb c?d?e?f' && rl B show -j | json . >/dev/null
}

# A pin that was removed takes the comments along, and nothing else.
test_lost() {
	apply_rules && rm "$(pin B veth-B)" && is "$(rl B show)" "$(printf '%s\n' "${RULES[@]%% #*}")" &&
		rl B rule add 192.0.2.1 deny '# new' && has 'deny # new' rl B show && apply_rules && shown "${RULES[@]}"
}

veth_pair A B && veth_quiet A B && rl B attach veth-B --sources 1024 || exit 1
t 'unused, nothing is pinned' test_unused
t 'show and rule list, fed back' test_shown
t 'JSON' test_json
t 'a changed comment keeps the state' test_keeps_state
t 'changes of one prefix' test_in_place
t 'attach --replace' test_replace
t 'the group reads them' test_group
t 'the device is renamed' test_rename
t 'a trial that is undone' test_try
t 'a long comment is cut' test_long
t 'control characters' test_control
t 'a removed pin' test_lost
