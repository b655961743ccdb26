#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hundreds of rules on a live veth: as a prefix gets more rules than are asked one by one, and fewer again, the program is
# replaced, and a limit keeps its state and its counters. check: beside
source "$(dirname "$0")/../lib.sh"

RULE='any udp dport 9 limit 1/hour burst 10 per rule'

# rules N
rules() {
	echo "rule $RULE"
	awk -v n="$1" 'BEGIN { for (i = 1; i < n; i++) printf "rule any udp dport %d limit 1/hour\n", 20000 + i }'
}

program() { rl B status -j | json '.[0].program_id'; }
dropped() { rl B stats -j | json ".[0].rules[] | select(.rule | startswith(\"any udp dport 9 \")) | .dropped.packets"; }
passed() { rl B stats -j | json ".[0].rules[] | select(.rule | startswith(\"any udp dport 9 \")) | .passed.packets"; }

# counts PASSED DROPPED: of that rule, after five more packets.
counts() {
	flood A --count 5 --src 10.78.0.1 >/dev/null && eventually 5 prints "$1" passed && eventually 5 prints "$2" dropped
}

test_grows() {
	local few many
	rules 8 >"$TMP/few" && rl B attach veth-B --policy "$TMP/few" && few=$(program) && counts 5 0 || return
	rules 300 | rl B apply - && many=$(program) && [[ $many != "$few" ]] && counts 10 0 && counts 10 5 || return
	is "$(rl B show | grep -c ^rule)" 300 && is "$(rl B rule list | grep -c 'any udp dport')" 300
}

test_one_more() {
	local before
	before=$(program) && rl B rule add any udp dport 9 sport 7 deny && is "$(program)" "$before" && counts 10 10 &&
		is "$(rl B show | grep -c ^rule)" 301 && rl B rule del any udp dport 9 sport 7 deny && counts 10 15
}

test_fed_back() {
	rl B show >"$TMP/shown" && rl B apply "$TMP/shown" && rl B show | cmp - "$TMP/shown" &&
		rl B diff "$TMP/shown" >"$TMP/diff" && [[ ! -s $TMP/diff ]]
}

test_refused() { # a ninth limit of one packet: nothing changes, and it is named
	{
		rules 300
		printf 'rule any udp dport 1-%d limit 1/hour\n' 10 11 12 13 14 15 16 17
	} >"$TMP/nine"
	expect_status 1 rl B apply "$TMP/nine" 2>"$TMP/complaint" &&
		grep -q 'a packet of "udp dport 9" would meet this limit and 8 others' "$TMP/complaint" &&
		is "$(rl B show | grep -c ^rule)" 300 && counts 10 20
}

test_shrinks() {
	local many
	many=$(program) && rl B apply "$TMP/few" && [[ $(program) != "$many" ]] && counts 10 25 && rl B detach veth-B
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'a prefix grows' test_grows
t 'by one rule, and back' test_one_more
t 'what show prints changes nothing' test_fed_back
t 'a ninth limit of one packet is refused' test_refused
t 'it shrinks' test_shrinks
